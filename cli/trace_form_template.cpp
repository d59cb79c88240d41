// trace_form_template.cpp — what its files say. They are built, tested and run by tests/cli.
#include "cli/plugin_template.hpp"

namespace ukemi::cli {

namespace {

constexpr TemplateFile trace_form_files[] = {
    {"NAME.cpp",
     R"code(// NAME.cpp — a log of a script of ours: from that minute on, so many machines are free.
//
//     NAME v1
//     0 free 4
//     95 free 0
//
// The last line says how long the record goes on, and holds nothing new.
#include "traces/csv_scanner.hpp"
#include "traces/plugin.hpp"
#include "traces/series_builder.hpp"

namespace {

using namespace ukemi;
using namespace ukemi::traces;

constexpr std::string_view first_line = "NAME v1";

// Asked with the first 4096 bytes. Say yes to nothing but your own form.
bool recognises(std::string_view head, const std::filesystem::path&) {
    return head.starts_with(first_line);
}

// Throws InputError with file:line:column for what is wrong; the scanner's complaints do.
Trace read(std::string_view text, const std::filesystem::path& file, const ReadOptions&) {
    const std::string name = file.string();
    CsvScanner lines(text, name, ' ');
    lines.expect_header(first_line);
    SeriesBuilder<std::int32_t> builder;
    Instant at;
    while (lines.next_row(3)) {
        const std::int64_t minute = lines.whole(0, 0, 50'000'000, "whole minutes");
        const Instant now = Instant::at(minutes(minute));
        if (builder.empty() ? now != Instant{} : now <= at) {
            lines.fail(0, builder.empty() ? "minute 0" : "a later minute than in the line before");
        }
        if (lines.field(1) != "free") lines.fail(1, "the word free");
        builder.add(now, lines.count(2));
        at = now;
    }
    if (builder.empty()) lines.fail_here("expected at least one line, found none");

    Trace trace;
    lines.add_to(trace.report);
    trace.series.emplace_back().availability = builder.finish(at);
    return trace;
}

}  // namespace

UKEMI_TRACE_FORMS({.name = "NAME",
                   .summary = "our own log: minutes, how many are free",
                   .recognises = recognises,
                   .read = read})
)code"},
    {"NAME_test.cpp", R"code(// NAME_test.cpp — the reader called by hand.
#include <cstdio>

#include "base/input_error.hpp"
#include "traces/plugin.hpp"

using namespace ukemi;
using namespace ukemi::traces;

extern "C" const FormPlugin* ukemi_trace_forms();

int main() {
    const TraceForm& form = ukemi_trace_forms()->entries[0];
    int failures = 0;
    const auto expect = [&](bool holds, const char* what) {
        if (holds) return;
        std::printf("%s\n", what);
        ++failures;
    };
    expect(form.recognises("NAME v1\n0 free 4\n", "a.log"), "its own form");
    expect(!form.recognises("t_s,instances\n", "a.csv"), "not another's");

    const Trace trace = form.read("NAME v1\n0 free 4\n95 free 0\n120 free 0\n", "a.log", {});
    const AvailabilitySeries& series = *trace.series.at(0).availability;
    expect(series.steps.size() == 2, "two steps");
    expect(series.steps.at(1).at == Instant::at(minutes(95)), "the second after 95 min");
    expect(series.end == Instant::at(minutes(120)), "which ends after 120");

    try {
        form.read("NAME v1\n0 free many\n", "a.log", {});
        expect(false, "a count that is none is refused");
    } catch (const InputError&) {
    }
    return failures == 0 ? 0 : 1;
}
)code"},
    {"NAME.log", R"code(NAME v1
0 free 1
900 free 0
1080 free 1
2300 free 0
2340 free 1
4000 free 0
4600 free 1
10080 free 1
)code"},
    {"NAME.json", R"code({
  "name": "NAME",
  "description": "A record in a form of one's own.",
  "seed": 1,
  "plugins": ["build/NAME.so"],
  "job": {
    "work": "48 hours", "deadline": "72 hours", "restart": "5 min",
    "checkpoint": {"cost": "1 min", "restore": "2 min"}
  },
  "cluster": {"count": 1},
  "market": {
    "availability": "NAME.log", "spot_price": "$0.92/h", "on_demand_price": "$3.06/h",
    "provisioning": "3 min"
  },
  "replay": ["greedy+daly", "uniform_progress+daly", "on_demand"]
}
)code"},
    {"README.md", R"code(# NAME

A form of recorded markets for ukemi, in a library of its own.

    cmake -S . -B build          # -DCMAKE_PREFIX_PATH=PREFIX where ukemi is installed elsewhere
    cmake --build build
    ctest --test-dir build
    ukemi --plugin build/NAME.so describe NAME.log
    ukemi --plugin build/NAME.so import NAME.log --out traces
    ukemi --allow-plugins replay NAME.json

`NAME.cpp` reads the form, `NAME_test.cpp` calls it by hand, `NAME.log` is a record in it and
`NAME.json` replays that. What `import` writes is plain CSV, which every ukemi reads without this
library. A library is code that runs with your rights, so ukemi loads it only where the command line
says so.
Build it anew when ukemi changes: a library for another interface is refused.
)code"},
};

}  // namespace

FilledFiles trace_form_template(std::string_view name) {
    return filled_template(trace_form_files, "traces", name);
}

}  // namespace ukemi::cli
