// The model, packed: its weights, one pass of its encoder, one step of its decoder.
//
// Shapes: R rows, D model width, H heads of C channels, P positions, S source, V vocabulary.

#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels.h"
#include "team.h"

constexpr int32_t BOS = 1, EOS = 2;
constexpr int64_t N_NEVER = 2;  // the first ids, padding and start, never follow a token

struct Shape {
    int32_t vocab_size, d_model, n_heads, n_encoder_layers, n_decoder_layers, d_ff, max_len;
    int32_t pre, learned, gelu;  // norm before the sublayer, learned positions, activation
};

struct Free {
    void operator()(void* bytes) const { std::free(bytes); }
};
// Memory that is aligned to the vectors of the processor.
using Bytes = std::unique_ptr<char, Free>;
Bytes allocate(int64_t size);

inline int64_t padded_size(int64_t size, int64_t unit) {
    return (size + unit - 1) / unit * unit;
}

struct Layer {
    Linear self_in, self_out, expand, contract;
    Norm self_norm, feed_norm;
    Linear cross_query, cross_out;  // none in an encoder
    Norm cross_norm;
};

// A weight or bias: its name in a checkpoint, its shape, and the function that stores it.
struct Parameter {
    std::string name;
    int64_t n_rows, n_columns;  // a vector has one row
    std::function<void(const float* rows, int64_t first, int64_t n)> take;  // gets its rows
};

// Keys and values of each layer and head of the decoder: of one source, or of one target so far.
class Cache {
   public:
    Cache(const struct Model& model, int64_t n_positions);
    void* keys(int64_t layer, int64_t head) const { return at(layer, head); }
    void* values(int64_t layer, int64_t head) const { return at(layer, head) + size / 2; }
    void copy(const Cache& other, int64_t n_positions);

   private:
    char* at(int64_t layer, int64_t head) const {
        return bytes.get() + (layer * n_heads + head) * size;
    }
    int64_t n_layers, n_heads, size;  // bytes of keys and values of one head
    int64_t position_size;            // bytes of the key, or of the value, at one position
    Bytes bytes;
};

struct Model {
    Model(const Shape&, const Kernels&);
    int64_t n_panels() const { return output.n_out / kernels.panel; }  // of the logits

    const Shape shape;
    const Kernels kernels;
    const int64_t channels;
    std::vector<Parameter> parameters;
    std::vector<Layer> encoder, decoder;
    Linear memory{}, output{};  // keys and values for all layers of the decoder; the logits
    Norm encoder_norm{}, decoder_norm{};
    float *embedding = nullptr, *positions = nullptr;  // (V, D), (max_len, D)

   private:
    float* numbers(int64_t n);
    void add_vector(const std::string& name, float* to, int64_t n_rows, int64_t n_columns);
    Linear linear(int64_t n_in, int64_t n_out);
    void add_map(const std::string& name, const Linear&, int64_t start, int64_t n_out,
                 float factor = 1);
    Norm norm(const std::string& name);
    Layer layer(const std::string& name, bool is_decoder, int64_t index);
    void fill_sinusoids();

    std::vector<Bytes> kept;
};

// Buffers of a pass through the layers; each searching thread has its own.
struct Workspace {
    explicit Workspace(int n_threads) : team(n_threads) {}
    Team team;
    std::vector<float> x, y, wide, weights, scales, highest, logits;
    std::vector<int32_t> best;
    std::vector<char> values, keys;
};

// Reads sources, each with its end mark, and fills a cache for each.
void encode(const Model&, const std::vector<std::vector<int32_t>>& sources,
            const std::vector<Cache*>& memories, Workspace&);

// One row of a step of the decoder: the last token and what came before it.
struct Row {
    int32_t token;
    int64_t position, n_source;
    const Cache* memory;
    Cache* past;    // the keys and values of the token are appended
    float* looked;  // (S,) receives the last layer's attention, averaged over heads; may be null
};

// The logits of one row (V,), and the highest one of each panel.
struct Logits {
    float* values;
    const float* highest;
};
using UseLogits = std::function<void(int64_t row, const Logits&)>;

// Reads one token a row. Then `next` (R,) receives the likeliest token of each row, or `use` is
// called with the logits of one row after the other, where they are given.
void step(const Model&, const std::vector<Row>& rows, Workspace&, int32_t* next,
          const UseLogits& use);
