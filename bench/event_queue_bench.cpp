// event_queue_bench.cpp — what one event costs: ukemi's queue beside std::priority_queue.
//
// The hold model (Jones 1986): with n events pending, take the next one and schedule one at its
// time plus a random increment. Ours carries a typed 24-byte event, can cancel and checks limits;
// the other one moves bare 16-byte entries {time, (phase, sequence)}. After Google Benchmark's own
// runs comes a table of paired measurements: both queues in turn, several times over, so that the
// noise of a shared machine hits both.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <ctime>
#include <queue>
#include <vector>

#include "base/statistics.hpp"
#include "sim/engine/event_queue.hpp"

namespace {

using namespace ukemi;
using namespace ukemi::sim;

class Bits {  // xorshift64*: cheap, so that the queues are measured and not the generator
public:
    std::uint64_t next() {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return state_ * 0x2545F4914F6CDD1DULL;
    }
    std::int64_t below_2_to(int exponent) {
        return static_cast<std::int64_t>(next() >> (64 - exponent));
    }

private:
    std::uint64_t state_ = 0x9E3779B97F4A7C15ULL;
};

enum class Increments { uniform, exponential, bimodal };
constexpr const char* increment_names[] = {"uniform", "exponential", "bimodal"};

std::int64_t increment(Increments kind, Bits& bits) {
    const std::uint64_t draw = bits.next() >> 2;  // the low bits of xorshift* are weak
    const auto low = static_cast<std::int64_t>(draw & 0xFFFFF);
    switch (kind) {
        case Increments::uniform:
            return 2 * low;  // 0 … 2 ms
        // Density halves with every 2^20 ns and is flat in between.
        case Increments::exponential: return (std::countr_zero(draw >> 20 | 1 << 30) << 20) + low;
        // Nine of ten within 65 us, one about 0.27 s later.
        case Increments::bimodal: return draw >> 20 & 7 ? low >> 4 : (1 << 28) + low;
    }
    return 0;
}

struct Work {  // an event as a simulation would have it
    std::uint32_t kind = 0;
    std::uint32_t instance = 0;
    std::int64_t bytes = 0;
    double share = 0;
};

class OurHold {
public:
    OurHold(std::size_t pending, Increments kind) : kind_(kind) {
        for (std::size_t i = 0; i < pending; ++i) schedule(Instant{});
        run(2 * pending);
    }
    void run(std::size_t holds) {
        for (std::size_t i = 0; i < holds; ++i) {
            const auto popped = queue_.pop();
            checksum_ += popped->event.instance;
            schedule(popped->at);
        }
        benchmark::DoNotOptimize(checksum_);
    }
    // Each hold also schedules a deadline and cancels it, as a step that ends in time does.
    void run_with_cancelled(std::size_t holds) {
        for (std::size_t i = 0; i < holds; ++i) {
            const auto popped = queue_.pop();
            const auto deadline =
                queue_.schedule(popped->at + Duration::of(increment(kind_, bits_)),
                                Phase::environment, Work{1, 0, 0, 0.0});
            schedule(popped->at);
            checksum_ += queue_.cancel(deadline) ? 1 : 0;
        }
        benchmark::DoNotOptimize(checksum_);
    }

private:
    void schedule(Instant from) {
        queue_.schedule(from + Duration::of(increment(kind_, bits_)), Phase::completion,
                        Work{0, static_cast<std::uint32_t>(from.raw()), 0, 1.0});
    }
    Increments kind_;
    Bits bits_;
    std::uint64_t checksum_ = 0;
    EventQueue<Work> queue_{{.events_max = ~std::uint64_t{0}, .events_per_instant_max = 1 << 30}};
};

struct PlainEntry {
    std::int64_t at;
    std::uint64_t phase_and_sequence;
    friend bool operator>(const PlainEntry& a, const PlainEntry& b) {
        return a.at != b.at ? a.at > b.at : a.phase_and_sequence > b.phase_and_sequence;
    }
};

class PlainHold {
public:
    PlainHold(std::size_t pending, Increments kind) : kind_(kind) {
        for (std::size_t i = 0; i < pending; ++i) schedule(0);
        run(2 * pending);
    }
    void run(std::size_t holds) {
        for (std::size_t i = 0; i < holds; ++i) {
            const std::int64_t at = queue_.top().at;
            checksum_ += queue_.top().phase_and_sequence;
            queue_.pop();
            schedule(at);
        }
        benchmark::DoNotOptimize(checksum_);
    }

private:
    void schedule(std::int64_t from) {
        queue_.push({from + increment(kind_, bits_), ++sequence_ | std::uint64_t{1} << 62});
    }
    Increments kind_;
    Bits bits_;
    std::uint64_t sequence_ = 0;
    std::uint64_t checksum_ = 0;
    std::priority_queue<PlainEntry, std::vector<PlainEntry>, std::greater<>> queue_;
};

template <class Hold>
void hold(benchmark::State& state) {
    Hold model(static_cast<std::size_t>(state.range(0)), static_cast<Increments>(state.range(1)));
    constexpr std::size_t batch = 1000;
    while (state.KeepRunningBatch(batch)) model.run(batch);
    state.SetItemsProcessed(state.iterations());
    state.SetLabel(increment_names[state.range(1)]);
}
const std::vector<std::vector<std::int64_t>> cases = {{8, 1'000, 100'000, 1'000'000}, {0, 1, 2}};
BENCHMARK(hold<OurHold>)->Name("hold/ukemi")->ArgNames({"pending", "kind"})->ArgsProduct(cases);
BENCHMARK(hold<PlainHold>)
    ->Name("hold/priority_queue")
    ->ArgNames({"pending", "kind"})
    ->ArgsProduct(cases);

// Processor time, not wall time: what other processes take is not counted.
template <class Run>
double ns_per_hold(std::size_t holds, Run run) {
    const std::clock_t start = std::clock();
    run(holds);
    const auto ticks = static_cast<double>(std::clock() - start);
    return ticks / CLOCKS_PER_SEC * 1e9 / static_cast<double>(holds);
}

// Fills a queue, then drains it: patterns that defeat queues which guess at the distribution.
using Pattern = std::int64_t (*)(std::int64_t index, std::int64_t count, Bits& bits);
struct NamedPattern {
    const char* name;
    Pattern time_of;
};
const NamedPattern patterns[] = {
    {"uniform",
     [](std::int64_t, std::int64_t, Bits& bits) -> std::int64_t { return bits.below_2_to(34); }},
    {"one instant", [](std::int64_t, std::int64_t, Bits&) -> std::int64_t { return 1'000'000; }},
    {"ascending", [](std::int64_t i, std::int64_t, Bits&) { return i * 1'000; }},
    {"descending", [](std::int64_t i, std::int64_t count, Bits&) { return (count - i) * 1'000; }},
    {"every scale",
     [](std::int64_t, std::int64_t, Bits& bits) -> std::int64_t {
         return bits.below_2_to(1 + static_cast<int>(bits.next() >> 33) % 62);
     }},
};

double ours_fill_and_drain(const NamedPattern& pattern, std::int64_t count) {
    Bits bits;
    EventQueue<Work> queue{{.events_max = ~std::uint64_t{0}, .events_per_instant_max = 1 << 30}};
    const auto work = [&] {
        for (std::int64_t i = 0; i < count; ++i) {
            const Duration due = Duration::of(pattern.time_of(i, count, bits));
            queue.schedule(Instant::at(due), static_cast<Phase>(bits.next() >> 62), Work{});
        }
        while (const auto popped = queue.pop()) benchmark::DoNotOptimize(popped->event);
    };
    work();  // memory is there from here on
    queue.clear();
    return ns_per_hold(static_cast<std::size_t>(count), [&](std::size_t) { work(); });
}

double plain_fill_and_drain(const NamedPattern& pattern, std::int64_t count) {
    Bits bits;
    std::priority_queue<PlainEntry, std::vector<PlainEntry>, std::greater<>> queue;
    const auto work = [&] {
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t due = pattern.time_of(i, count, bits);
            queue.push({due, bits.next() >> 62 << 62 | static_cast<std::uint64_t>(i)});
        }
        for (; !queue.empty(); queue.pop()) benchmark::DoNotOptimize(queue.top().at);
    };
    work();
    return ns_per_hold(static_cast<std::size_t>(count), [&](std::size_t) { work(); });
}

void print_pattern(const NamedPattern& pattern) {
    constexpr std::int64_t count = 1'000'000;
    std::vector<double> ours_ns, plain_ns, ratios;
    for (int repetition = 0; repetition < 3; ++repetition) {
        ours_ns.push_back(ours_fill_and_drain(pattern, count));
        plain_ns.push_back(plain_fill_and_drain(pattern, count));
        ratios.push_back(ours_ns.back() / plain_ns.back());
    }
    const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
    fmt::print("{:>9} {:<12} {:>9.1f} {:>15.1f} {:>7.2f}   {:>4.2f} … {:<4.2f}\n", count,
               pattern.name, median(ours_ns), median(plain_ns), median(ratios), *low, *high);
}

void print_pairs(std::size_t pending, Increments kind) {
    constexpr std::size_t repetitions = 11;
    const std::size_t holds = pending < 100'000 ? 500'000 : 1'000'000;
    OurHold ours(pending, kind);
    PlainHold plain(pending, kind);
    std::vector<double> ours_ns, plain_ns, ratios, cancelling_ns;
    for (std::size_t repetition = 0; repetition < repetitions; ++repetition) {
        ours_ns.push_back(ns_per_hold(holds, [&](std::size_t n) { ours.run(n); }));
        plain_ns.push_back(ns_per_hold(holds, [&](std::size_t n) { plain.run(n); }));
        ratios.push_back(ours_ns.back() / plain_ns.back());
    }
    for (std::size_t repetition = 0; repetition < 3; ++repetition) {
        cancelling_ns.push_back(
            ns_per_hold(holds, [&](std::size_t n) { ours.run_with_cancelled(n); }));
    }
    const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
    fmt::print("{:>9} {:<12} {:>9.1f} {:>15.1f} {:>7.2f}   {:>4.2f} … {:<4.2f} {:>16.1f}\n",
               pending, increment_names[static_cast<int>(kind)], median(ours_ns), median(plain_ns),
               median(ratios), *low, *high, median(cancelling_ns));
}

}  // namespace

int main(int argument_count, char** arguments) {
    benchmark::Initialize(&argument_count, arguments);
    if (benchmark::ReportUnrecognizedArguments(argument_count, arguments)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();

    fmt::print(
        "\nprocessor ns a hold, medians of 11 interleaved repetitions; ratio = ukemi /\n"
        "priority_queue of the same repetition (median, least … most); ukemi+cancel: each hold\n"
        "also schedules a deadline and cancels it\n"
        "{:>9} {:<12} {:>9} {:>15} {:>7}   {:<11} {:>16}\n",
        "pending", "increments", "ukemi", "priority_queue", "ratio", "spread", "ukemi+cancel");
    for (const std::size_t pending : {8U, 1'000U, 100'000U, 1'000'000U}) {
        for (const auto kind :
             {Increments::uniform, Increments::exponential, Increments::bimodal}) {
            print_pairs(pending, kind);
        }
    }

    fmt::print("\nns an event to schedule a million, then take them all; medians of 3 pairs\n");
    for (const NamedPattern& pattern : patterns) print_pattern(pattern);
    return 0;
}
