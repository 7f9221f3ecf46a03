// The functions that native.py calls. They check their arguments and let no exception through.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>

#include "search.h"

#pragma GCC visibility push(default)
extern "C" {

extern const int32_t decoder_interface;
const int32_t decoder_interface = 3;  // must equal INTERFACE_VERSION in native.py

// The results of a search as flat arrays: hypotheses of each source, ids and attention of each.
struct Results {
    const int32_t *counts, *lengths, *ids;
    const double* scores;
    const float *looked, *gains;
};
}

namespace {

constexpr int64_t ROWS_READ = 16;  // rows of int8 weights that are converted to float32 together

thread_local char message[200];

// Returns the result of a function, or `otherwise` if it fails; `decoder_error` then says why.
template <class Use, class Result>
Result guarded(Use use, Result otherwise) {
    try {
        return use();
    } catch (const std::exception& error) {
        std::snprintf(message, sizeof message, "%s", error.what());
        return otherwise;
    }
}

struct Decoder {
    Decoder(const Shape& shape, const Variant& variant, bool int8)
        : model(shape, int8 ? variant.int8 : variant.float32), variant(variant) {}
    Model model;
    const Variant& variant;
};

struct Kept {
    Results results;
    std::vector<int32_t> counts, lengths;
    Ids ids;
    std::vector<double> scores;
    std::vector<float> looked, gains;
};

void check(bool holds, const std::string& what) {
    if (!holds) throw std::invalid_argument(what);
}

Ids read_ids(const Model& model, const int32_t* ids, int64_t n, int64_t most, const char* what) {
    check(n >= 0 && n <= most, "expected " + std::string(what) + " of at most " +
                                   std::to_string(most) + " tokens, got " + std::to_string(n));
    for (int64_t i = 0; i < n; ++i)
        check(ids[i] >= 0 && ids[i] < model.shape.vocab_size,
              "expected ids below " + std::to_string(model.shape.vocab_size) + ", got " +
                  std::to_string(ids[i]));
    return Ids(ids, ids + n);
}

}  // namespace

extern "C" {

const char* decoder_error() {
    return message;
}

// Returns a decoder without weights, or null if this processor cannot run the variant.
Decoder* decoder_open(const Shape* shape, const char* variant_name, int32_t int8) {
    return guarded(
        [&] {
            const Variant* variant = choose(variant_name);
            check(variant, "this processor cannot run the kernels asked for");
            return new Decoder(*shape, *variant, int8);
        },
        static_cast<Decoder*>(nullptr));
}

void decoder_close(Decoder* decoder) {
    delete decoder;
}

const char* decoder_variant(const Decoder* decoder) {
    return decoder->variant.name;
}

// Returns the name and the shape of a parameter by its number, or null after the last one.
const char* decoder_parameter(const Decoder* decoder, int64_t index, int64_t* shape) {
    const std::vector<Parameter>& parameters = decoder->model.parameters;
    if (index < 0 || index >= static_cast<int64_t>(parameters.size())) return nullptr;
    shape[0] = parameters[index].n_rows;
    shape[1] = parameters[index].n_columns;
    return parameters[index].name.c_str();
}

// Copies the numbers of a parameter; if `scales` is given they are int8, with a scale for each row.
void decoder_read(const Decoder* decoder, int64_t index, const void* numbers, const float* scales) {
    const Parameter& parameter = decoder->model.parameters[index];
    const int64_t n_rows = parameter.n_rows, width = parameter.n_columns;
    if (!scales) {
        parameter.take(static_cast<const float*>(numbers), 0, n_rows);
        return;
    }
    const auto* values = static_cast<const int8_t*>(numbers);
    std::vector<float> rows(ROWS_READ * width);  // a block stays in the cache until it is packed
    for (int64_t first = 0; first < n_rows; first += ROWS_READ) {
        const int64_t n = std::min(ROWS_READ, n_rows - first);
        for (int64_t r = 0; r < n; ++r)
            for (int64_t i = 0; i < width; ++i)
                rows[r * width + i] = values[(first + r) * width + i] * scales[first + r];
        parameter.take(rows.data(), first, n);
    }
}

// Searches; `ids` holds all sources in a row. Returns results to be freed, or null for an error.
Kept* decoder_search(const Decoder* decoder, const int32_t* ids, const int64_t* lengths,
                     int64_t n_sources, const int32_t* prefix, int64_t n_prefix,
                     const Settings* settings) {
    return guarded(
        [&] {
            const Model& model = decoder->model;
            const int64_t longest = model.shape.max_len;
            check(settings->beam_size > 0 && settings->n_best > 0 && settings->no_repeat >= 0 &&
                      settings->branches >= 0 && settings->n_threads > 0,
                  "expected a beam, a best result and a thread at least");
            std::vector<Ids> sources;
            for (int64_t i = 0; i < n_sources; ids += lengths[i++])
                sources.push_back(read_ids(model, ids, lengths[i], longest - 1, "a source"));
            const Ids forced = read_ids(model, prefix, n_prefix, longest - 2, "a prefix");
            auto kept = std::make_unique<Kept>();
            for (const auto& hypotheses : search(model, sources, forced, *settings)) {
                kept->counts.push_back(static_cast<int32_t>(hypotheses.size()));
                for (const Hypothesis& h : hypotheses) {
                    kept->lengths.push_back(static_cast<int32_t>(h.ids.size()));
                    kept->ids.insert(kept->ids.end(), h.ids.begin(), h.ids.end());
                    kept->scores.push_back(h.score);
                    kept->looked.insert(kept->looked.end(), h.looked.begin(), h.looked.end());
                    kept->gains.insert(kept->gains.end(), h.gains.begin(), h.gains.end());
                }
            }
            kept->results = {kept->counts.data(), kept->lengths.data(), kept->ids.data(),
                             kept->scores.data(), kept->looked.data(), kept->gains.data()};
            return kept.release();
        },
        static_cast<Kept*>(nullptr));
}

const Results* decoder_results(const Kept* kept) {
    return &kept->results;
}

void decoder_free(Kept* kept) {
    delete kept;
}

// y = x W^T + b and what follows it, as the model computes it: (R, D_in) -> (R, D_out). For tests.
int32_t decoder_product(const char* variant_name, int32_t int8, const float* weight,
                        const float* bias, int64_t n_out, int64_t n_in, const float* x,
                        int64_t n_rows, int32_t after, float* y) {
    return guarded(
        [&] {
            const Variant* variant = choose(variant_name);
            check(variant && n_in % 64 == 0, "expected a variant that runs here, D_in % 64 = 0");
            const Kernels& kernels = int8 ? variant->int8 : variant->float32;
            const int64_t padded = padded_size(n_out, kernels.panel), stride = n_in + 64;
            const Bytes weights = allocate(padded * n_in * kernels.number_size);
            std::memset(weights.get(), 0, padded * n_in * kernels.number_size);
            std::vector<float> scale(padded), filled(padded), out(n_rows * padded);
            std::vector<float> scales(n_rows + SPARE);
            std::vector<int32_t> offset(padded);
            std::vector<char> values((n_rows + SPARE) * stride * kernels.number_size);
            std::copy_n(bias, n_out, filled.begin());
            const Linear map{weights.get(),  scale.data(), filled.data(),
                             offset.data(), n_in,         padded};
            kernels.pack(weight, n_out, 0, map);
            const Rows rows{values.data(), scales.data(), stride};
            kernels.read(x, n_rows, n_in, rows);
            kernels.multiply(map, rows, n_rows, 0, padded / kernels.panel,
                             static_cast<After>(after), out.data(), nullptr);
            for (int64_t r = 0; r < n_rows; ++r)
                std::copy_n(out.begin() + r * padded, n_out, y + r * n_out);
            return 1;
        },
        0);
}
}
#pragma GCC visibility pop
