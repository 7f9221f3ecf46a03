// Greedy and beam search from source ids to target ids, as in search.py.

#pragma once

#include <cstdint>
#include <vector>

#include "model.h"

using Ids = std::vector<int32_t>;

struct Settings {
    int32_t beam_size, n_best, no_repeat, scored, aligned, branches, n_threads;
    int64_t batch_tokens;
    double alpha;
    float max_ratio;
};

struct Hypothesis {
    Ids ids;       // without special ones
    double score;  // in nats; NaN if it was not requested
    // If requested: the last layer's attention (T + 1, S), and each token's log-probability.
    std::vector<float> looked, gains;
};

// Returns the hypotheses of each source, best first; other sources do not change them.
std::vector<std::vector<Hypothesis>> search(const Model&, const std::vector<Ids>& sources,
                                            const Ids& prefix, const Settings&);
