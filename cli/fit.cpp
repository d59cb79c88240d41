// fit.cpp — `ukemi fit`: the market generator set to recorded series, written for scenarios.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "analysis/output_folder.hpp"
#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "base/unit_text.hpp"
#include "cli/command.hpp"
#include "cli/fit_learning.hpp"
#include "cli/fitted_scenarios.hpp"
#include "traces/market_comparison.hpp"
#include "traces/market_file.hpp"
#include "traces/market_fit.hpp"
#include "traces/reader.hpp"

namespace ukemi::cli {

namespace {

struct FitCommand {
    std::vector<std::string> files;
    std::string name = "fitted";
    std::string source;
    std::string out;
    std::string on_demand;
    std::string zone;
    std::string instance_type;
    std::string gap;
    std::string stretches;
    std::string learning;
    bool force = false;
};

struct Recording {
    std::vector<traces::TraceSeries> series;
    std::vector<traces::Lifetime> lifetimes;
    Duration sampling;
};

Recording read_all(const FitCommand& options) {
    traces::ReadOptions read;
    read.zone = options.zone;
    read.instance_type = options.instance_type;
    if (!options.gap.empty()) read.gap = parse_duration(options.gap, "--gap");
    Recording all;
    for (const std::string& file : options.files) {
        traces::Trace trace = traces::read_record(file, read);
        for (traces::TraceSeries& series : trace.series) {
            // "us-west-2a_v100_1": many files are called by their zone.
            if (series.zone.empty()) series.zone = trace.name.substr(0, trace.name.find('_'));
            all.series.push_back(std::move(series));
        }
        std::ranges::move(trace.lifetimes, std::back_inserter(all.lifetimes));
        all.sampling = std::max(all.sampling, trace.report.sampling);
    }
    if (all.series.empty() && all.lifetimes.empty()) {
        throw InputError(options.files.front(), "", "expected series or lifetimes to fit to");
    }
    return all;
}

std::string source_of(const FitCommand& options) {
    if (!options.source.empty()) return options.source;
    std::string names;
    for (const std::string& file : options.files) {
        names += (names.empty() ? "" : ", ") + std::filesystem::path(file).filename().string();
    }
    return shortened(one_line(names), 200);
}

// The same number of zones for long enough, beside the recording.
std::string comparison_of(const Recording& recording, const traces::MarketParameters& parameters,
                          double usd_on_demand) {
    const auto zones =
        static_cast<std::int32_t>(std::clamp<std::size_t>(recording.series.size(), 1, 16));
    const auto made = traces::generate_market(parameters, 1, zones,
                                              traces::length_to_compare(recording.series, zones));
    const auto has = [&](auto traces::TraceSeries::*member) {
        return std::ranges::any_of(
            recording.series, [&](const traces::TraceSeries& one) { return bool(one.*member); });
    };
    std::string text;
    if (has(&traces::TraceSeries::availability)) {
        text += traces::describe(traces::compare_availability(recording.series, made));
    }
    if (has(&traces::TraceSeries::price) && parameters.price) {
        text += traces::describe(traces::compare_prices(recording.series, made, usd_on_demand));
    }
    return text;
}

void fit(const FitCommand& options) {
    if (!options.learning.empty()) {
        if (!options.files.empty()) {
            throw InputError("--learning", "", "goes without trace files: it has its own records");
        }
        print_published_learning(options.learning);
        if (!options.out.empty()) {
            write_fitted_scenarios(options.learning, options.out, options.force);
        }
        return;
    }
    if (options.files.empty()) {
        throw InputError("TRACE", "", "missing: expected trace files, or --learning with a folder");
    }
    const double usd_on_demand =
        options.on_demand.empty()
            ? 0
            : to_dollars_per_hour(parse_price(options.on_demand, "--on-demand"));
    std::optional<analysis::OutputFile> out;
    if (!options.out.empty()) out.emplace(options.out, options.force);
    const Recording recording = read_all(options);
    traces::FitOptions wanted;
    wanted.name = options.name;
    wanted.source = source_of(options);
    wanted.sampling = recording.sampling;
    wanted.usd_on_demand = usd_on_demand;
    if (!options.stretches.empty()) {
        wanted.stretch = parse_duration(options.stretches, "--stretches");
        if (wanted.stretch <= Duration{}) {
            throw InputError("--stretches", "", "expected more than 0 s");
        }
    }
    const traces::MarketFit fitted =
        traces::fit_market(recording.series, recording.lifetimes, wanted);
    const std::string text = traces::to_json(fitted.parameters);
    if (!out) {
        fmt::print("{}", text);
        return;
    }
    const std::string comparison = comparison_of(recording, fitted.parameters, usd_on_demand);
    out->write(text);
    for (const std::string& note : fitted.notes) fmt::print("{}\n", note);
    fmt::print("{}wrote {}\n", comparison, one_line(options.out));
}

}  // namespace

void add_fit(CLI::App& app) {
    auto options = std::make_shared<FitCommand>();
    CLI::App* command = app.add_subcommand(
        "fit", "set the market generator to recorded series, and say how well it fits");
    command->add_option("TRACE", options->files, "trace files; zones of one market");
    command->add_option("--learning", options->learning,
                        "folder of recorded training (pollux/, sia/, zeus/): print what the laws "
                        "of learning predict of it, and nothing else; with --out FOLDER "
                        "write them as scenarios");
    command->add_option("--out", options->out,
                        "JSON file for scenarios (none: print it); with --learning a folder");
    command->add_option("--name", options->name, "what the market is called");
    command->add_option("--source", options->source, "where the records come from");
    command->add_option("--on-demand", options->on_demand,
                        "on-demand price, such as \"0.65 USD/h\": spikes are above it");
    command->add_option("--stretches", options->stretches,
                        "keep the record, and make markets of stretches of it, of this mean length "
                        "(1 d): run lengths and the zones of a region stay as they were");
    command->add_option("--zone", options->zone, "this zone only, of a file with several");
    command->add_option("--type", options->instance_type, "this instance type only");
    command->add_option("--gap", options->gap, "time between samples, for forms that lack it");
    command->add_flag("--force", options->force, "replace the file if it is there already");
    command->callback([options] { fit(*options); });
}

}  // namespace ukemi::cli
