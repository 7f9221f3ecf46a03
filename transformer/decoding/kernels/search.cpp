// One step for all sentences that are searched; those that end make room for others.

#include "search.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>

namespace {

constexpr int64_t FEWEST = 8;  // sentences that are searched together, where there are so many

// A token that may come next, and its log-probability.
struct Choice {
    float gain;
    int32_t token;
};

// A target so far, its start mark and the forced prefix included.
struct Beam {
    Ids ids{BOS};
    float score = 0;
    std::unique_ptr<Cache> past;
    std::vector<float> looked;  // (T, S)
};

struct Sentence {
    size_t place;  // among the sources
    Ids source;    // with its end mark
    int64_t limit;  // of the tokens of a beam, the start mark included and the end mark not
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

// Sources that wait, the longest first; shared by the threads.
class Queue {
   public:
    explicit Queue(const std::vector<Ids>& sources) : sources(sources), order(sources.size()) {
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
            return sources[a].size() > sources[b].size();
        });
    }

    // The next places of which `takes` says yes.
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
          only_best(settings.beam_size == 1 && !settings.scored && !settings.no_repeat) {
        // Half of a fair share at a time: so no thread waits long for another at the end.
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
    // Takes in new sentences, some at once, where enough others have ended.
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
            sentence.limit = std::min<int64_t>(
                static_cast<int64_t>(length * settings.max_ratio) + 10 + prefix.size(),
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
            step(model, rows_from(first), work, nullptr, nullptr);
            keep_looks(first);
            for (size_t i = first; i < sentences.size(); ++i)
                sentences[i].beams[0].ids.push_back(token);
        }
    }

    int64_t cost(size_t length) const { return length * settings.beam_size; }

    // A row for each beam of the sentences from `first` on.
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

    // Each beam of those sentences keeps where this step looked.
    void keep_looks(size_t first) {
        auto look = looks.begin();
        for (size_t i = first; i < sentences.size() && settings.aligned; ++i)
            for (Beam& beam : sentences[i].beams) {
                const auto end = look + sentences[i].source.size();
                beam.looked.insert(beam.looked.end(), look, end);
                look = end;
            }
    }

    // One token for each beam of all sentences.
    void advance() {
        const std::vector<Row> rows = rows_from(0);
        next.resize(rows.size());
        if (!only_best) logits.resize(rows.size() * model.output.n_out);
        step(model, rows, work, only_best ? next.data() : nullptr,
             only_best ? nullptr : logits.data());
        keep_looks(0);
        size_t row = 0;
        for (Sentence& sentence : sentences) {
            const size_t n_beams = sentence.beams.size();
            if (settings.beam_size == 1)
                take_best(sentence, row);
            else
                take_beams(sentence, row);
            row += n_beams;
        }
    }

    // Greedy search: the likeliest token, or at the limit the end.
    void take_best(Sentence& sentence, size_t row) {
        Beam& beam = sentence.beams[0];
        Choice choice{std::numeric_limits<float>::quiet_NaN(), next[row]};
        if (only_best) {
            if (at_limit(sentence)) choice.token = EOS;
        } else {
            const std::vector<Choice> choices = likeliest(sentence, beam, row, 1);
            choice = choices.empty() ? Choice{-INFINITY, EOS} : choices[0];
        }
        beam.score += choice.gain;
        if (choice.token != EOS) return beam.ids.push_back(choice.token);
        const double unknown = std::numeric_limits<double>::quiet_NaN();
        finish(sentence, beam, settings.scored ? beam.score : unknown);
        sentence.over = true;
    }

    // Beam search: of 2N candidates the N best that go on. An end mark counts only among the first
    // N: with a looser rule empty translations win. A sentence is over when it has N hypotheses
    // (Wu et al. 2016, section 7).
    void take_beams(Sentence& sentence, size_t row) {
        struct Candidate {
            float score;
            size_t parent;
            int32_t token;
        };
        const size_t size = settings.beam_size;
        std::vector<Beam>& beams = sentence.beams;
        std::vector<Candidate> candidates;
        for (size_t b = 0; b < beams.size(); ++b)
            for (const Choice& choice : likeliest(sentence, beams[b], row + b, 2 * size))
                candidates.push_back({beams[b].score + choice.gain, b, choice.token});
        std::stable_sort(
            candidates.begin(), candidates.end(),
            [](const Candidate& one, const Candidate& other) { return one.score > other.score; });
        candidates.resize(std::min(candidates.size(), 2 * size));
        std::vector<Candidate> alive;
        for (size_t place = 0; place < candidates.size(); ++place) {
            const Candidate& candidate = candidates[place];
            const Beam& parent = beams[candidate.parent];
            if (candidate.token == EOS && place < size)
                finish(sentence, parent,
                       candidate.score / length_penalty(parent.ids.size(), settings.alpha));
            else if (candidate.token != EOS && alive.size() < size)
                alive.push_back(candidate);
        }
        sentence.over = sentence.finished.size() >= size || alive.empty();
        if (sentence.over) return;
        std::vector<Beam> children;
        std::vector<std::unique_ptr<Cache>> spare;
        std::vector<size_t> n_children(beams.size(), 0);
        for (const Candidate& candidate : alive) ++n_children[candidate.parent];
        for (size_t b = 0; b < beams.size(); ++b)
            if (!n_children[b]) spare.push_back(std::move(beams[b].past));
        for (const Candidate& candidate : alive) {
            Beam& parent = beams[candidate.parent];
            Beam child;
            if (--n_children[candidate.parent] == 0) {  // the last child takes its parent's place
                child.ids = std::move(parent.ids);
                child.looked = std::move(parent.looked);
                child.past = std::move(parent.past);
            } else {
                child.ids = parent.ids;
                child.looked = parent.looked;
                child.past = spare.empty() ? std::make_unique<Cache>(model, sentence.limit)
                                           : std::move(spare.back());
                if (!spare.empty()) spare.pop_back();
                child.past->copy(*parent.past, parent.ids.size());
            }
            child.ids.push_back(candidate.token);
            child.score = candidate.score;
            children.push_back(std::move(child));
        }
        beams = std::move(children);
    }

    static bool at_limit(const Sentence& sentence) {
        return static_cast<int64_t>(sentence.beams[0].ids.size()) >= sentence.limit;
    }

    // The k likeliest tokens after a beam, best first, of equals the first; at the limit only the
    // end mark. Padding and start never follow, nor what would repeat an n-gram.
    std::vector<Choice> likeliest(const Sentence& sentence, const Beam& beam, size_t row,
                                  size_t k) {
        const int64_t size = model.shape.vocab_size;
        float* scores = logits.data() + row * model.output.n_out;
        float highest;
        const float log_sum = model.kernels.log_sum(scores, size, &highest);
        std::fill_n(scores, N_NEVER, -INFINITY);
        for_each_repeat(beam.ids, settings.no_repeat,
                        [&](int32_t token) { scores[token] = -INFINITY; });
        std::vector<Choice> best;
        if (at_limit(sentence))
            best.push_back({scores[EOS], EOS});
        else
            runs.resize(padded_size(size, RUN) / RUN);
        if (best.empty()) model.kernels.runs(scores, size, runs.data());
        for (size_t run = 0; run < runs.size() && !at_limit(sentence); ++run) {
            float least = best.size() < k ? -INFINITY : best.back().gain;
            if (!(runs[run] > least)) continue;
            const int64_t end = std::min<int64_t>(size, (run + 1) * RUN);
            for (int64_t token = run * RUN; token < end; ++token) {
                if (!(scores[token] > least)) continue;
                const auto place = std::upper_bound(
                    best.begin(), best.end(), scores[token],
                    [](float score, const Choice& choice) { return score > choice.gain; });
                best.insert(place, {scores[token], static_cast<int32_t>(token)});
                if (best.size() > k) best.pop_back();
                if (best.size() == k) least = best.back().gain;
            }
        }
        for (Choice& choice : best) choice.gain = choice.gain - highest - log_sum;
        return best;
    }

    void finish(Sentence& sentence, const Beam& beam, double score) {
        sentence.finished.push_back({Ids(beam.ids.begin() + 1, beam.ids.end()), score, beam.looked});
    }

    std::vector<Hypothesis> best_of(Sentence& sentence) {
        std::vector<Hypothesis>& found = sentence.finished;
        if (found.empty()) finish(sentence, sentence.beams[0], -INFINITY);  // no number, no choice
        std::stable_sort(found.begin(), found.end(), [](const Hypothesis& a, const Hypothesis& b) {
            return a.score > b.score;
        });
        found.resize(std::min<size_t>(found.size(), settings.n_best));
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
    std::vector<int32_t> next;
    std::vector<float> logits, looks, runs;
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
