// sweep_bench.cpp — a million short replays into a database, against the clock.
//
// Four hours of work within six, on the recorded spot markets of tests/data/markets: 36 traces, the
// windows of each that do not overlap (up to 40), six lists of policies, and the time of a restart
// varied until there are so many runs. From reading the traces to the database on the disk, with
// one thread and with two: wall time, processor time, the largest resident set at a tenth, at half
// and at the end; and what one run takes apart from all around it. Nothing is asserted: these
// machines are shared.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <string_view>

#include "analysis/database/market_maker.hpp"
#include "analysis/database/sqlite.hpp"
#include "analysis/database/sweep_runs.hpp"
#include "base/read_file.hpp"
#include "scenarios/reader/variants.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;

long largest_resident_mib() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

double processor_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

scenarios::VariedKey restarts(std::size_t count) {
    scenarios::VariedKey key{"/job/restart", {}};
    for (std::size_t i = 0; i < count; ++i) key.values.push_back(fmt::format("\"{} s\"", i + 1));
    return key;
}

void sweep_once(const fs::path& source, std::size_t variants, int threads) {
    const fs::path folder = fs::temp_directory_path() / fmt::format("ukemi-bench-{}", getpid());
    fs::create_directories(folder);
    const fs::path file = source / "scenarios/market/recorded_weeks.json";
    const std::vector<ConfigOverride> overrides{{"/job/work", "\"4 h\""},
                                                {"/job/deadline", "\"6 h\""}};
    const scenarios::VariedKey key = restarts(variants);
    const double begun_s = processor_s();
    const auto all =
        scenarios::variants_from_text(read_file(file), file, overrides, std::span(&key, 1));
    std::vector<scenarios::ExperimentCase> cases;
    for (const scenarios::Scenario& one : all) cases.push_back({&one, one.policies, {1}});
    scenarios::ExperimentSetup setup;
    for (const auto& entry : fs::directory_iterator(source / "tests/data/markets")) {
        setup.traces.push_back(entry.path());
    }
    std::ranges::sort(setup.traces);
    setup.starts = scenarios::parse_starts("apart", "bench");
    setup.threads = threads;
    setup.judged = true;
    std::vector<long> resident_mib;  // at a tenth, at half
    analysis::SweepSetup sweep;
    sweep.database = folder / "runs.db";
    sweep.progress = [&](std::size_t done, std::size_t total) {
        if (done == total / 10 || done == total / 2) resident_mib.push_back(largest_resident_mib());
    };
    analysis::MarketMaker maker(cases, setup);
    analysis::RankGroup alone;
    const analysis::SweepEnd end = analysis::sweep_runs(maker, sweep, alone);
    if (end.failure) std::rethrow_exception(end.failure);
    resident_mib.push_back(largest_resident_mib());
    const double used_s = processor_s() - begun_s;
    const auto runs = static_cast<double>(end.made);
    fmt::print(
        "{} runs, {} thread{}: wall {:.1f} s, processor {:.1f} s ({:.1f} us a run), {:.0f} MiB of "
        "database\n    largest resident set at 1/10, 1/2 and the end: {} MiB\n",
        end.made, threads, threads == 1 ? "" : "s", end.wall_s, used_s, 1e6 * used_s / runs,
        static_cast<double>(fs::file_size(sweep.database)) / (1 << 20),
        fmt::join(resident_mib, ", "));
    analysis::SqliteDatabase database(sweep.database, analysis::SqliteDatabase::Access::read);
    const std::int64_t simulated_us =
        database.integer("SELECT round(1e6 * sum(wall_s)) FROM results");
    fmt::print("    of this, the simulations themselves: {:.1f} us a run\n",
               static_cast<double>(simulated_us) / runs);
    fs::remove_all(folder);
}

}  // namespace

}  // namespace ukemi

// bench_sweep [VARIANTS [THREADS]]: of the time of a restart (155: a million runs); with one thread
// and with two, or with so many.
int main(int argc, char** argv) {
    std::size_t variants = 155;
    int threads = 0;
    const auto read = [](std::string_view text, auto& number) {
        return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc{};
    };
    if ((argc > 1 && !read(argv[1], variants)) || (argc > 2 && !read(argv[2], threads))) {
        fmt::print(stderr, "usage: bench_sweep [VARIANTS [THREADS]]\n");
        return 2;
    }
    for (const int count : {1, 2}) {
        if (threads > 0 && count > 1) break;
        ukemi::sweep_once(UKEMI_SOURCE_DIR, variants, threads > 0 ? threads : count);
    }
    return 0;
}
