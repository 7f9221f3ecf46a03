// Searches many sentences step by step; sentences that end make room for others that wait.

#include "search.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>

namespace {

constexpr int64_t FEWEST = 8;  // the fewest sentences to search together, if there are enough

// A possible next token: its log-probability, the beam that it continues, and the new score.
struct Candidate {
    float gain;
    int32_t token;
    size_t parent = 0;
    float score = 0;
};

// The beginning of a target, with its start mark and the forced prefix.
struct Beam {
    Ids ids{BOS};
    float score = 0;
    std::unique_ptr<Cache> past;
    std::vector<float> looked, gains;  // (T, S), (T,), only if requested
};

struct Sentence {
    size_t place;  // index of the source
    Ids source;    // with its end mark
    int64_t limit;  // tokens of a beam, with the start mark but without the end mark
    std::unique_ptr<Cache> memory;
    std::vector<Beam> beams;
    std::vector<Hypothesis> finished;
    bool over = false;
};

// ((5 + length) / 6)^alpha, the end mark counted (Wu et al. 2016, eq. 14).
double length_penalty(size_t length, double alpha) {
    return std::pow((5.0 + length) / 6, alpha);
}

// The tokens that would write an n-gram a second time (Paulus et al. 2017, 2.5).
template <class Use>
void for_each_repeat(const Ids& ids, size_t n, Use use) {
    if (!n || ids.size() < n) return;
    const auto last = ids.end() - (n - 1);
    for (size_t i = n - 1; i < ids.size(); ++i)
        if (std::equal(last, ids.end(), ids.begin() + i - (n - 1))) use(ids[i]);
}

// The sources that wait, longest first; the threads share it.
class Queue {
   public:
    explicit Queue(const std::vector<Ids>& sources) : sources(sources), order(sources.size()) {
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
            return sources[a].size() > sources[b].size();
        });
    }

    // Takes the next sources as long as `takes` accepts them; returns their indices.
    template <class Takes>
    std::vector<size_t> take(Takes takes) {
        const std::lock_guard lock(mutex);
        std::vector<size_t> taken;
        while (next < order.size() && takes(sources[order[next]])) taken.push_back(order[next++]);
        return taken;
    }

    void stop() {
        const std::lock_guard lock(mutex);
        next = order.size();
    }

    const std::vector<Ids>& sources;

   private:
    std::mutex mutex;
    std::vector<size_t> order;
    size_t next = 0;
};

class Search {
   public:
    using Results = std::vector<std::vector<Hypothesis>>;

    Search(const Model& model, Queue& queue, const Ids& prefix, const Settings& settings,
           int n_workers, Results& results)
        : model(model), queue(queue), prefix(prefix), settings(settings), results(results),
          work(settings.n_threads / n_workers),
          only_best(settings.beam_size == 1 && !settings.scored && !settings.no_repeat &&
                    !settings.aligned && !settings.branches) {
        // Take half of a fair share at a time, so that no thread waits long for another at the end.
        const int64_t n = queue.sources.size(), fair = (n + n_workers - 1) / n_workers;
        most = n_workers == 1 ? n : std::max((fair + 1) / 2, std::min(FEWEST, fair));
    }

    void run() {
        while (admit(), !sentences.empty()) {
            advance();
            for (Sentence& sentence : sentences)
                if (sentence.over) results[sentence.place] = best_of(sentence);
            sentences.erase(std::remove_if(sentences.begin(), sentences.end(),
                                           [](const Sentence& sentence) { return sentence.over; }),
                            sentences.end());
        }
    }

   private:
    // Takes new sentences, several together, when enough others have ended.
    void admit() {
        int64_t n = sentences.size(), tokens = 0;
        for (const Sentence& sentence : sentences) tokens += cost(sentence.source.size());
        if (n && (n > most * 3 / 4 || tokens > settings.batch_tokens * 3 / 4)) return;
        const std::vector<size_t> places = queue.take([&](const Ids& source) {
            tokens += cost(source.size() + 1);
            return ++n <= most && (tokens <= settings.batch_tokens || n == 1);
        });
        std::vector<Ids> sources;
        std::vector<Cache*> memories;
        const size_t first = sentences.size();
        for (const size_t place : places) {
            Sentence sentence;
            sentence.place = place;
            sentence.source = queue.sources[place];
            sentence.source.push_back(EOS);
            const float length = static_cast<float>(sentence.source.size());
            const size_t n_forced = prefix.size() + (settings.branches ? 1 : 0);
            sentence.limit = std::min<int64_t>(
                static_cast<int64_t>(length * settings.max_ratio) + 10 + n_forced,
                model.shape.max_len);
            sentence.memory = std::make_unique<Cache>(model, sentence.source.size());
            sentence.beams.resize(1);
            sentence.beams[0].past = std::make_unique<Cache>(model, sentence.limit);
            sources.push_back(sentence.source);
            memories.push_back(sentence.memory.get());
            sentences.push_back(std::move(sentence));
        }
        encode(model, sources, memories, work);
        for (const int32_t token : prefix) {
            if (first == sentences.size()) return;
            UseLogits use;
            if (settings.aligned)
                use = [&](int64_t row, const Logits& logits) {
                    Beam& beam = sentences[first + row].beams[0];
                    beam.gains.push_back(log_probability(logits, token));
                };
            read(first, nullptr, use);
            for (size_t i = first; i < sentences.size(); ++i)
                sentences[i].beams[0].ids.push_back(token);
        }
    }

    int64_t cost(size_t length) const { return length * settings.beam_size; }

    // Makes a row for each beam of the sentences from `first` on.
    std::vector<Row> rows_from(size_t first) {
        std::vector<Row> rows;
        size_t n_looks = 0;
        for (size_t i = first; i < sentences.size(); ++i)
            n_looks += sentences[i].beams.size() * sentences[i].source.size();
        looks.assign(settings.aligned ? n_looks : 0, 0.0f);
        float* looked = settings.aligned ? looks.data() : nullptr;
        for (size_t i = first; i < sentences.size(); ++i)
            for (Beam& beam : sentences[i].beams) {
                const int64_t n_source = sentences[i].source.size();
                rows.push_back({beam.ids.back(), static_cast<int64_t>(beam.ids.size()) - 1,
                                n_source, sentences[i].memory.get(), beam.past.get(), looked});
                if (looked) looked += n_source;
            }
        return rows;
    }

    // Appends the attention of this step to each beam of the sentences from `first` on.
    void keep_looks(size_t first) {
        auto look = looks.begin();
        for (size_t i = first; i < sentences.size() && settings.aligned; ++i)
            for (Beam& beam : sentences[i].beams) {
                const auto end = look + sentences[i].source.size();
                beam.looked.insert(beam.looked.end(), look, end);
                look = end;
            }
    }

    // Feeds the last token of each beam of the sentences from `first` on to the decoder. Writes the
    // likeliest next tokens to `best`, or calls `use` with the logits.
    void read(size_t first, int32_t* best, const UseLogits& use) {
        step(model, rows_from(first), work, best, use);
        keep_looks(first);
    }

    // Adds one token to each beam of all sentences.
    void advance() {
        if (only_best) {
            next.resize(sentences.size());
            read(0, next.data(), nullptr);
        } else {
            choose();
        }
        size_t row = 0;
        for (Sentence& sentence : sentences) {
            const size_t n_beams = sentence.beams.size();
            const std::vector<Candidate> alive = settings.beam_size == 1
                                                     ? take_best(sentence, row)
                                                     : take_beams(sentence, row);
            row += n_beams;
            sentence.over |= alive.empty();
            if (!sentence.over) go_on(sentence, alive);
        }
    }

    // Finds the likeliest next tokens of each beam of all sentences.
    void choose() {
        std::vector<std::pair<const Sentence*, size_t>> beams;  // of each row
        for (const Sentence& sentence : sentences)
            for (size_t b = 0; b < sentence.beams.size(); ++b) beams.emplace_back(&sentence, b);
        choices.resize(beams.size());
        read(0, nullptr, [&](int64_t row, const Logits& logits) {
            choices[row] = likeliest(*beams[row].first, beams[row].second, logits);
        });
    }

    // Greedy search: takes the likeliest token, or the end mark at the limit. With `branches`, each
    // of the likeliest tokens after the prefix begins a beam.
    std::vector<Candidate> take_best(Sentence& sentence, size_t row) {
        const float unknown = std::numeric_limits<float>::quiet_NaN();
        std::vector<Candidate> alive;
        for (size_t b = 0; b < sentence.beams.size(); ++b) {
            std::vector<Candidate> best;
            if (only_best)
                best.push_back({unknown, at_limit(sentence) ? EOS : next[row + b]});
            else
                best = std::move(choices[row + b]);
            if (best.empty()) best.push_back({-INFINITY, EOS, b, -INFINITY});
            for (const Candidate& candidate : best)
                if (candidate.token == EOS)
                    finish(sentence, candidate, settings.scored ? candidate.score : unknown);
                else
                    alive.push_back(candidate);
        }
        return alive;
    }

    // Beam search: selects the N best of 2N candidates that do not end. One that ends counts only if
    // it is among the N best; otherwise empty translations would win. A sentence is over when it has
    // N hypotheses (Wu et al. 2016, section 7).
    std::vector<Candidate> take_beams(Sentence& sentence, size_t row) {
        const size_t size = settings.beam_size;
        std::vector<Candidate> candidates, alive;
        for (size_t b = 0; b < sentence.beams.size(); ++b)
            candidates.insert(candidates.end(), choices[row + b].begin(), choices[row + b].end());
        std::stable_sort(
            candidates.begin(), candidates.end(),
            [](const Candidate& one, const Candidate& other) { return one.score > other.score; });
        candidates.resize(std::min(candidates.size(), 2 * size));
        for (size_t place = 0; place < candidates.size(); ++place) {
            const Candidate& candidate = candidates[place];
            const size_t length = sentence.beams[candidate.parent].ids.size();
            if (candidate.token == EOS && place < size)
                finish(sentence, candidate,
                       candidate.score / length_penalty(length, settings.alpha));
            else if (candidate.token != EOS && alive.size() < size)
                alive.push_back(candidate);
        }
        sentence.over = sentence.finished.size() >= size;
        return alive;
    }

    // The candidates become the beams of a sentence; the last child takes its parent's place.
    void go_on(Sentence& sentence, const std::vector<Candidate>& alive) {
        std::vector<Beam>& beams = sentence.beams;
        std::vector<Beam> children;
        std::vector<std::unique_ptr<Cache>> spare;
        std::vector<size_t> n_children(beams.size(), 0);
        for (const Candidate& candidate : alive) ++n_children[candidate.parent];
        for (size_t b = 0; b < beams.size(); ++b)
            if (!n_children[b]) spare.push_back(std::move(beams[b].past));
        for (const Candidate& candidate : alive) {
            Beam& parent = beams[candidate.parent];
            if (--n_children[candidate.parent] == 0) {
                children.push_back(std::move(parent));
            } else {
                if (spare.empty()) spare.push_back(std::make_unique<Cache>(model, sentence.limit));
                spare.back()->copy(*parent.past, parent.ids.size());
                children.push_back({parent.ids, parent.score, std::move(spare.back()),
                                    parent.looked, parent.gains});
                spare.pop_back();
            }
            Beam& child = children.back();
            child.ids.push_back(candidate.token);
            child.score = candidate.score;
            if (settings.aligned) child.gains.push_back(candidate.gain);
        }
        beams = std::move(children);
    }

    static bool at_limit(const Sentence& sentence) {
        return static_cast<int64_t>(sentence.beams[0].ids.size()) >= sentence.limit;
    }

    // Returns how many next tokens of a beam are considered.
    size_t n_choices(const Sentence& sentence) const {
        if (settings.beam_size > 1) return 2 * settings.beam_size;
        const bool branch = settings.branches && sentence.beams[0].ids.size() == prefix.size() + 1;
        return branch ? settings.branches : 1;
    }

    // Inserts a token into the k best ones if it is good enough; of equals the first one wins.
    static void keep(std::vector<Candidate>& best, size_t k, float gain, int64_t token) {
        if (!(gain > (best.size() < k ? -INFINITY : best.back().gain))) return;
        const auto place = std::upper_bound(
            best.begin(), best.end(), gain,
            [](float gain, const Candidate& other) { return gain > other.gain; });
        best.insert(place, {gain, static_cast<int32_t>(token)});
        if (best.size() > k) best.pop_back();
    }

    // Returns the likeliest next tokens of a beam, best first; at the limit only the end mark.
    // Padding, the start mark, and tokens that would repeat an n-gram are excluded.
    std::vector<Candidate> likeliest(const Sentence& sentence, size_t parent,
                                     const Logits& logits) const {
        const Beam& beam = sentence.beams[parent];
        const size_t k = n_choices(sentence);
        const auto [top, log_sum] = normaliser(logits);
        float* scores = logits.values;
        std::fill_n(scores, N_NEVER, -INFINITY);
        size_t n = k + N_NEVER;  // the k best tokens lie in this many of the best panels
        for_each_repeat(beam.ids, settings.no_repeat, [&](int32_t token) {
            scores[token] = -INFINITY;
            ++n;
        });
        std::vector<Candidate> best, panels;
        if (at_limit(sentence)) {
            best.push_back({scores[EOS], EOS});
        } else {
            const int64_t size = model.kernels.panel;
            for (int64_t i = 0; i < model.n_panels(); ++i) keep(panels, n, logits.highest[i], i);
            const float least = panels.size() < n ? -INFINITY : panels.back().gain;
            for (int64_t i = 0; i < model.n_panels(); ++i) {
                if (logits.highest[i] < least) continue;
                const int64_t end = std::min<int64_t>(model.shape.vocab_size, (i + 1) * size);
                for (int64_t token = i * size; token < end; ++token)
                    if (scores[token] >= least) keep(best, k, scores[token], token);
            }
        }
        for (Candidate& choice : best) {
            choice.gain = choice.gain - top - log_sum;
            choice.parent = parent;
            choice.score = beam.score + choice.gain;
        }
        return best;
    }

    // The highest logit, and log(sum(exp(logits - highest))).
    std::pair<float, float> normaliser(const Logits& logits) const {
        const float top = *std::max_element(logits.highest, logits.highest + model.n_panels());
        return {top, model.kernels.log_sum(logits.values, model.shape.vocab_size, top)};
    }

    float log_probability(const Logits& logits, int32_t token) const {
        const auto [top, log_sum] = normaliser(logits);
        return logits.values[token] - top - log_sum;
    }

    void finish(Sentence& sentence, const Candidate& end, double score) {
        const Beam& beam = sentence.beams[end.parent];
        sentence.finished.push_back(
            {Ids(beam.ids.begin() + 1, beam.ids.end()), score, beam.looked, beam.gains});
        if (settings.aligned) sentence.finished.back().gains.push_back(end.gain);
    }

    std::vector<Hypothesis> best_of(Sentence& sentence) {
        std::vector<Hypothesis>& found = sentence.finished;
        if (found.empty()) finish(sentence, {-INFINITY, EOS}, -INFINITY);  // all logits are NaN
        std::stable_sort(found.begin(), found.end(), [](const Hypothesis& a, const Hypothesis& b) {
            return a.score > b.score;
        });
        const int32_t most = std::max(settings.n_best, settings.branches);
        found.resize(std::min<size_t>(found.size(), most));
        return std::move(found);
    }

    const Model& model;
    Queue& queue;
    const Ids& prefix;
    const Settings& settings;
    Results& results;
    Workspace work;
    const bool only_best;
    int64_t most;  // sentences at a time
    std::vector<Sentence> sentences;
    std::vector<int32_t> next;                     // (R,)
    std::vector<std::vector<Candidate>> choices;  // of each row
    std::vector<float> looks;                     // attention of each row
};

}  // namespace

std::vector<std::vector<Hypothesis>> search(const Model& model, const std::vector<Ids>& sources,
                                            const Ids& prefix, const Settings& settings) {
    Search::Results results(sources.size());
    Queue queue(sources);
    const int n_workers =
        std::min<int>(settings.n_threads, std::max<size_t>(sources.size(), 1));
    std::mutex mutex;
    std::exception_ptr failure;
    const auto run = [&] {
        try {
            Search(model, queue, prefix, settings, n_workers, results).run();
        } catch (...) {
            const std::lock_guard lock(mutex);
            failure = std::current_exception();
            queue.stop();
        }
    };
    std::vector<std::thread> threads;
    for (int i = 1; i < n_workers; ++i) threads.emplace_back(run);
    run();
    for (std::thread& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
    return results;
}
