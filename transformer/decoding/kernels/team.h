// Threads that share the work of one sentence.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

// The threads wait in a busy loop, since tasks follow each other within microseconds. Therefore a
// team lives no longer than a search.
class Team {
   public:
    explicit Team(int n_threads) : size(n_threads) {
        for (int i = 1; i < size; ++i) threads.emplace_back([this, i] { work_on(i); });
    }
    ~Team() {
        ended = true;
        ++round;
        for (std::thread& thread : threads) thread.join();
    }
    Team(const Team&) = delete;

    // Calls use(begin, end, thread) for parts that together are 0 ... n - 1, of `cost` operations.
    void share(int64_t n, int64_t cost, const std::function<void(int64_t, int64_t, int)>& use) {
        constexpr int64_t LEAST = 1 << 18;  // fewer are not worth waking the others
        if (size == 1 || cost < LEAST) return use(0, n, 0);
        part = [&](int thread) { use(n * thread / size, n * (thread + 1) / size, thread); };
        at_work = size - 1;
        ++round;
        part(0);
        wait([this] { return at_work == 0; });
    }

    const int size;

   private:
    template <class Condition>
    static void wait(Condition holds) {
        for (int i = 0; !holds(); ++i)
            if (i > 2000) std::this_thread::yield();
    }

    void work_on(int thread) {
        for (int seen = 0;;) {
            wait([&] { return round != seen; });
            seen = round;
            if (ended) return;
            part(thread);
            --at_work;
        }
    }

    std::atomic<int> round{0}, at_work{0};
    std::atomic<bool> ended{false};
    std::function<void(int)> part;
    std::vector<std::thread> threads;
};
