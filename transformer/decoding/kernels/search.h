// From source ids to target ids: greedy and beam search, as search.py does them.

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
    double score;  // in nats; not a number where none was asked for
    // If asked for: where the last layer looked (T + 1, S), and each token's log-probability.
    std::vector<float> looked, gains;
};

// The hypotheses of each source, best first, each as it would be alone.
std::vector<std::vector<Hypothesis>> search(const Model&, const std::vector<Ids>& sources,
                                            const Ids& prefix, const Settings&);
