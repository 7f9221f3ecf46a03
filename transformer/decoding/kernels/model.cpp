// Packing of the weights; the passes through the layers.

#include "model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

namespace {

constexpr int64_t BLOCK = 240;  // source tokens that go through the encoder together
constexpr int64_t LOGITS = 192'000;  // logits that are computed before any of them is used
constexpr float NOT_THERE = -1e9f;  // bias of the outputs that pad a panel: never the highest

// The residual stream of some rows on its way through the layers (Vaswani et al. 2017, figure 1).
class Stream {
   public:
    Stream(const Model& model, Workspace& work, int64_t n_rows, int64_t n_keys)
        : model(model), kernels(model.kernels), work(work), n_rows(n_rows),
          D(model.shape.d_model), H(model.shape.n_heads), C(model.channels) {
        const int64_t widest = std::max({3 * D, int64_t{model.shape.d_ff}, model.memory.n_out});
        const int64_t stride = std::max<int64_t>(D, model.shape.d_ff) + 64;
        work.x.resize(n_rows * D);
        work.y.resize(n_rows * D);
        work.wide.resize(n_rows * (widest + model.kernels.panel));
        work.weights.resize(n_keys + VECTOR);
        work.scales.resize(n_rows + SPARE);
        work.values.resize((n_rows + SPARE) * stride * kernels.number_size);
        rows = {work.values.data(), work.scales.data(), stride};
        x = work.x.data();
        y = work.y.data();
        wide = work.wide.data();
    }

    void embed(int64_t row, int32_t id, int64_t position) {
        const float factor = std::sqrt(static_cast<float>(D));
        const float* token = model.embedding + id * D;
        const float* place = model.positions + position * D;
        for (int64_t i = 0; i < D; ++i) x[row * D + i] = token[i] * factor + place[i];
    }

    void read(const Norm& norm) {  // x, or norm(x) before a sublayer, becomes the rows of a product
        if (model.shape.pre) kernels.normalise(norm, x, n_rows, D, y);
        load(model.shape.pre ? y : x, D);
    }

    void project(const Linear& map, After after, float* to) {  // to = map(rows)
        share(map, n_rows, [&](int64_t begin, int64_t end, int) {
            kernels.multiply(map, rows, n_rows, begin, end, after, to, nullptr);
        });
    }

    void write(const Linear& map, const Norm& norm, const float* from) {  // x = x + map(from)
        load(from, map.n_in);
        project(map, After::ADD, x);
        if (!model.shape.pre) kernels.normalise(norm, x, n_rows, D, x);
    }

    void feed(const Layer& layer) {
        read(layer.feed_norm);
        project(layer.expand, model.shape.gelu ? After::GELU : After::RELU, wide);
        write(layer.contract, layer.feed_norm, wide);
    }

    void likeliest(int32_t* next) {
        const int parts = work.team.size;
        work.best.assign(parts * n_rows, 0);
        work.highest.assign(parts * n_rows, -INFINITY);
        share(model.output, n_rows, [&](int64_t begin, int64_t end, int thread) {
            kernels.best(model.output, rows, n_rows, begin, end, N_NEVER,
                         &work.best[thread * n_rows], &work.highest[thread * n_rows]);
        });
        for (int64_t r = 0; r < n_rows; ++r) {
            int64_t found = r;  // the first one of equals
            for (int64_t i = r; i < parts * n_rows; i += n_rows)
                if (work.highest[i] > work.highest[found]) found = i;
            next[r] = work.highest[found] > -INFINITY ? work.best[found] : EOS;
        }
    }

    // Computes as many rows at a time as have logits that fit the second-level cache.
    void score(const UseLogits& use) {
        const Linear& map = model.output;
        const int64_t n_panels = model.n_panels();
        const int64_t at_once = std::clamp<int64_t>(LOGITS / map.n_out, 1, n_rows);
        work.logits.resize(at_once * map.n_out);
        work.highest.resize(at_once * n_panels);
        float *logits = work.logits.data(), *highest = work.highest.data();
        for (int64_t first = 0; first < n_rows; first += at_once) {
            const int64_t n = std::min(at_once, n_rows - first);
            char* values = work.values.data() + first * rows.stride * kernels.number_size;
            const Rows some{values, rows.scales + first, rows.stride};
            share(map, n, [&](int64_t begin, int64_t end, int) {
                kernels.multiply(map, some, n, begin, end, After::NOTHING, logits, highest);
            });
            for (int64_t r = 0; r < n; ++r)
                use(first + r, {logits + r * map.n_out, highest + r * n_panels});
        }
    }

    const Model& model;
    const Kernels& kernels;
    Workspace& work;
    const int64_t n_rows, D, H, C;
    float *x, *y, *wide;

   private:
    void load(const float* from, int64_t width) {
        rows.stride = width + 64;
        kernels.read(from, n_rows, width, rows);
    }

    template <class Use>
    void share(const Linear& map, int64_t n, Use use) {
        work.team.share(map.n_out / kernels.panel, n * map.n_in * map.n_out, use);
    }

    Rows rows;
};

// Prefetches the keys and values of the next head while those of this head are used.
void fetch(const char* from, int64_t size) {
    for (int64_t i = 0; i < size; i += 64) __builtin_prefetch(from + i, 0, 2);
}

void self_attention(const Stream& stream, const std::vector<Row>& rows, int64_t layer) {
    const int64_t D = stream.D, C = stream.C;
    for (int64_t r = 0; r < stream.n_rows; ++r) {
        const int64_t n = rows[r].position + 1;
        for (int64_t h = 0; h < stream.H; ++h) {
            void *keys = rows[r].past->keys(layer, h), *values = rows[r].past->values(layer, h);
            if (h + 1 < stream.H) {
                const int64_t size = n * C * stream.kernels.cache_size;
                fetch(static_cast<char*>(rows[r].past->keys(layer, h + 1)), size);
                fetch(static_cast<char*>(rows[r].past->values(layer, h + 1)), size);
            }
            const float* query = stream.wide + r * 3 * D + h * C;
            stream.kernels.remember(query + D, query + 2 * D, C, n - 1, keys, values);
            stream.kernels.attend(query, keys, values, n, C, stream.y + r * D + h * C,
                                  stream.work.weights.data(), nullptr, 0);
        }
    }
}

void cross_attention(const Stream& stream, const std::vector<Row>& rows, int64_t layer) {
    const int64_t D = stream.D, C = stream.C;
    const bool is_last = layer + 1 == stream.model.shape.n_decoder_layers;
    for (int64_t r = 0; r < stream.n_rows; ++r)
        for (int64_t h = 0; h < stream.H; ++h) {
            const Cache& memory = *rows[r].memory;
            const int64_t size = rows[r].n_source * C * stream.kernels.cache_size;
            if (h + 1 < stream.H) {
                fetch(static_cast<char*>(memory.keys(layer, h + 1)), size);
                fetch(static_cast<char*>(memory.values(layer, h + 1)), size);
            }
            stream.kernels.attend(stream.wide + r * D + h * C, memory.keys(layer, h), memory.values(layer, h),
                                  rows[r].n_source, C, stream.y + r * D + h * C,
                                  stream.work.weights.data(), is_last ? rows[r].looked : nullptr,
                                  1.0f / stream.H);
        }
}

// Self-attention of one sentence of the encoder, whose rows start at `first`.
void attend_within(const Stream& stream, int64_t first, int64_t length) {
    const int64_t C = stream.C, D = stream.D, width = 3 * D;
    char* keys = stream.work.keys.data();
    char* values = keys + padded_size(length, VECTOR) * C * stream.kernels.cache_size;
    for (int64_t h = 0; h < stream.H; ++h) {
        const float* query = stream.wide + first * width + h * C;
        for (int64_t s = 0; s < length; ++s)
            stream.kernels.remember(query + s * width + D, query + s * width + 2 * D, C, s, keys,
                                    values);
        for (int64_t s = 0; s < length; ++s)
            stream.kernels.attend(query + s * width, keys, values, length, C,
                                  stream.y + (first + s) * D + h * C, stream.work.weights.data(),
                                  nullptr, 0);
    }
}

// Sources begin ... end - 1, their tokens one after the other; no padding is computed.
void encode_block(const Model& model, const std::vector<std::vector<int32_t>>& sources,
                  const std::vector<Cache*>& memories, size_t begin, size_t end, Workspace& work) {
    int64_t n_rows = 0, longest = 0;
    for (size_t b = begin; b < end; ++b) {
        n_rows += sources[b].size();
        longest = std::max<int64_t>(longest, sources[b].size());
    }
    Stream stream(model, work, n_rows, longest);
    work.keys.resize(2 * padded_size(longest, VECTOR) * stream.C * model.kernels.cache_size);
    int64_t row = 0;
    for (size_t b = begin; b < end; ++b)
        for (size_t s = 0; s < sources[b].size(); ++s) stream.embed(row++, sources[b][s], s);
    for (const Layer& layer : model.encoder) {
        stream.read(layer.self_norm);
        stream.project(layer.self_in, After::NOTHING, stream.wide);
        row = 0;
        for (size_t b = begin; b < end; row += sources[b++].size())
            attend_within(stream, row, sources[b].size());
        stream.write(layer.self_out, layer.self_norm, stream.y);
        stream.feed(layer);
    }
    stream.read(model.encoder_norm);
    stream.project(model.memory, After::NOTHING, stream.wide);
    row = 0;
    for (size_t b = begin; b < end; ++b)
        for (size_t s = 0; s < sources[b].size(); ++s, ++row)
            for (int64_t i = 0; i < model.shape.n_decoder_layers; ++i)
                for (int64_t h = 0; h < stream.H; ++h) {
                    const float* key = stream.wide + row * model.memory.n_out + i * 2 * stream.D +
                                       h * stream.C;
                    model.kernels.remember(key, key + stream.D, stream.C, s,
                                           memories[b]->keys(i, h), memories[b]->values(i, h));
                }
}

}  // namespace

Bytes allocate(int64_t size) {
    constexpr int64_t VECTOR_BYTES = 64;
    void* bytes = std::aligned_alloc(VECTOR_BYTES, padded_size(size + 1, VECTOR_BYTES));
    if (!bytes) throw std::bad_alloc();
    return Bytes(static_cast<char*>(bytes));
}

Cache::Cache(const Model& model, int64_t n_positions)
    : n_layers(model.shape.n_decoder_layers), n_heads(model.shape.n_heads),
      size(2 * padded_size(n_positions, VECTOR) * model.channels * model.kernels.cache_size),
      position_size(model.channels * model.kernels.cache_size),
      bytes(allocate(n_layers * n_heads * size)) {}

void Cache::copy(const Cache& other, int64_t n_positions) {
    for (int64_t i = 0; i < n_layers; ++i)
        for (int64_t h = 0; h < n_heads; ++h) {
            std::memcpy(keys(i, h), other.keys(i, h),
                        padded_size(n_positions, VECTOR) * position_size);
            std::memcpy(values(i, h), other.values(i, h), n_positions * position_size);
        }
}

Model::Model(const Shape& shape, const Kernels& kernels)
    : shape(shape), kernels(kernels), channels(shape.d_model / shape.n_heads) {
    const int64_t D = shape.d_model;
    embedding = numbers(shape.vocab_size * D);
    output = linear(D, shape.vocab_size);
    parameters.push_back({"embedding.weight", shape.vocab_size, D, [this, D](const float* rows, int64_t first, int64_t n) {
                              std::copy_n(rows, n * D, embedding + first * D);
                              this->kernels.pack(rows, n, first, output);
                          }});
    positions = numbers(shape.max_len * D);
    if (shape.learned)
        add_vector("positions.table", positions, shape.max_len, D);
    else
        fill_sinusoids();
    memory = linear(D, shape.n_decoder_layers * 2 * D);
    for (int64_t i = 0; i < shape.n_encoder_layers; ++i)
        encoder.push_back(layer("encoder." + std::to_string(i), false, i));
    for (int64_t i = 0; i < shape.n_decoder_layers; ++i)
        decoder.push_back(layer("decoder." + std::to_string(i), true, i));
    if (shape.pre) {
        encoder_norm = norm("encoder_norm");
        decoder_norm = norm("decoder_norm");
    }
}

float* Model::numbers(int64_t n) {
    kept.push_back(allocate(n * sizeof(float)));
    return reinterpret_cast<float*>(kept.back().get());
}

void Model::add_vector(const std::string& name, float* to, int64_t n_rows, int64_t n_columns) {
    parameters.push_back({name, n_rows, n_columns, [=](const float* rows, int64_t first, int64_t n) {
                              std::copy_n(rows, n * n_columns, to + first * n_columns);
                          }});
}

Linear Model::linear(int64_t n_in, int64_t n_out) {
    const int64_t padded = padded_size(n_out, kernels.panel), size = kernels.number_size;
    kept.push_back(allocate(padded * n_in * size));
    std::memset(kept.back().get(), 0, padded * n_in * size);
    Linear map{kept.back().get(), numbers(padded), numbers(padded), nullptr, n_in, padded};
    map.offset = reinterpret_cast<int32_t*>(numbers(padded));
    std::fill_n(map.scale, padded, 0.0f);
    std::fill_n(map.bias, padded, 0.0f);
    std::fill_n(map.offset, padded, 0);
    std::fill(map.bias + n_out, map.bias + padded, NOT_THERE);
    return map;
}

void Model::add_map(const std::string& name, const Linear& map, int64_t start, int64_t n_out,
                    float factor) {
    const int64_t n_in = map.n_in;
    parameters.push_back({name + ".weight", n_out, n_in, [=](const float* rows, int64_t first, int64_t n) {
                              std::vector<float> scaled(rows, rows + n * n_in);
                              for (float& number : scaled) number *= factor;
                              kernels.pack(scaled.data(), n, start + first, map);
                          }});
    parameters.push_back({name + ".bias", 1, n_out, [=](const float* bias, int64_t, int64_t) {
                              for (int64_t i = 0; i < n_out; ++i)
                                  map.bias[start + i] = bias[i] * factor;
                          }});
}

Norm Model::norm(const std::string& name) {
    const Norm norm{numbers(shape.d_model), numbers(shape.d_model)};
    add_vector(name + ".weight", norm.weight, 1, shape.d_model);
    add_vector(name + ".bias", norm.bias, 1, shape.d_model);
    return norm;
}

Layer Model::layer(const std::string& name, bool is_decoder, int64_t index) {
    const int64_t D = shape.d_model;
    const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(channels)));  // eq. 1
    Layer made{};
    made.self_in = linear(D, 3 * D);
    made.self_out = linear(D, D);
    made.expand = linear(D, shape.d_ff);
    made.contract = linear(shape.d_ff, D);
    add_map(name + ".self_attention.query", made.self_in, 0, D, scale);
    add_map(name + ".self_attention.key", made.self_in, D, D);
    add_map(name + ".self_attention.value", made.self_in, 2 * D, D);
    add_map(name + ".self_attention.out", made.self_out, 0, D);
    add_map(name + ".feed_forward.expand", made.expand, 0, shape.d_ff);
    add_map(name + ".feed_forward.contract", made.contract, 0, D);
    made.self_norm = norm(name + ".self_residual.norm");
    made.feed_norm = norm(name + ".feed_residual.norm");
    if (!is_decoder) return made;
    made.cross_query = linear(D, D);
    made.cross_out = linear(D, D);
    add_map(name + ".cross_attention.query", made.cross_query, 0, D, scale);
    add_map(name + ".cross_attention.key", memory, index * 2 * D, D);
    add_map(name + ".cross_attention.value", memory, index * 2 * D + D, D);
    add_map(name + ".cross_attention.out", made.cross_out, 0, D);
    made.cross_norm = norm(name + ".cross_residual.norm");
    return made;
}

void Model::fill_sinusoids() {  // section 3.5: sine on even and cosine on odd channels
    for (int64_t channel = 0; channel < shape.d_model; channel += 2) {
        const double rate = std::exp(channel * (-std::log(10000.0) / shape.d_model));
        for (int64_t p = 0; p < shape.max_len; ++p) {
            positions[p * shape.d_model + channel] = static_cast<float>(std::sin(p * rate));
            positions[p * shape.d_model + channel + 1] = static_cast<float>(std::cos(p * rate));
        }
    }
}

void encode(const Model& model, const std::vector<std::vector<int32_t>>& sources,
            const std::vector<Cache*>& memories, Workspace& work) {
    for (size_t begin = 0, end; begin < sources.size(); begin = end) {
        int64_t n_rows = 0;
        for (end = begin; end < sources.size(); ++end) {
            n_rows += sources[end].size();
            if (end > begin && n_rows > BLOCK) break;
        }
        encode_block(model, sources, memories, begin, end, work);
    }
}

void step(const Model& model, const std::vector<Row>& rows, Workspace& work, int32_t* next,
          const UseLogits& use) {
    int64_t n_keys = 0;
    for (const Row& row : rows) n_keys = std::max({n_keys, row.position + 1, row.n_source});
    Stream stream(model, work, rows.size(), n_keys);
    for (size_t r = 0; r < rows.size(); ++r) stream.embed(r, rows[r].token, rows[r].position);
    for (size_t i = 0; i < model.decoder.size(); ++i) {
        const Layer& layer = model.decoder[i];
        stream.read(layer.self_norm);
        stream.project(layer.self_in, After::NOTHING, stream.wide);
        self_attention(stream, rows, i);
        stream.write(layer.self_out, layer.self_norm, stream.y);
        stream.read(layer.cross_norm);
        stream.project(layer.cross_query, After::NOTHING, stream.wide);
        cross_attention(stream, rows, i);
        stream.write(layer.cross_out, layer.cross_norm, stream.y);
        stream.feed(layer);
    }
    if (!next && !use) return;
    stream.read(model.decoder_norm);
    if (next) stream.likeliest(next);
    if (use) stream.score(use);
}
