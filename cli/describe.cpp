// describe.cpp — `ukemi describe`: what a recorded market is like, in figures and in characters.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "analysis/describe_figures.hpp"
#include "analysis/output_folder.hpp"
#include "analysis/requests/recorded_markets.hpp"
#include "analysis/result_doubts.hpp"
#include "analysis/series_table.hpp"
#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "base/statistics.hpp"
#include "cli/command.hpp"
#include "cli/describe_topology.hpp"
#include "cli/run_options.hpp"
#include "traces/character_chart.hpp"
#include "traces/lifetime_law.hpp"
#include "traces/market_statistics.hpp"
#include "traces/series_statistics.hpp"

namespace ukemi::cli {

namespace {

struct DescribeOptions {
    std::vector<std::string> files;
    std::string zone;
    std::string instance_type;
    std::string gap;
    std::size_t width = 0;
    std::size_t series_max = 12;
    bool join = false;
    bool zones = false;
    std::string market;
    std::optional<bool> log_time;
    std::string topology;
    std::uint32_t machines = 1;
    OutputOptions output;
};

// What the terminal has, if standard output is one.
std::size_t width_of(const DescribeOptions& options) {
    if (options.width > 0) return options.width;
    return std::clamp<std::size_t>(terminal_columns().value_or(80), 40, 100);
}

std::string quantiles(const std::vector<double>& sorted, std::string_view unit) {
    if (sorted.empty()) return "none";
    return fmt::format("{}: 10 % {:.3g}, median {:.3g}, 90 % {:.3g}, most {:.3g} {}", sorted.size(),
                       quantile(sorted, 0.1), quantile(sorted, 0.5), quantile(sorted, 0.9),
                       sorted.back(), unit);
}

std::string availability_text(const traces::TraceSeries& series, std::size_t width) {
    const traces::SeriesStatistics s = traces::statistics_of(*series.availability);
    const traces::AvailabilityDetail detail = traces::detail_of(*series.availability);
    std::string text = fmt::format(
        "  availability  {:.2f} of {} held on average ({:.1f} %); none {:.1f} %, all "
        "{:.1f} % of the time\n",
        s.instances_mean, s.instances_max, s.share_mean * 100, s.share_of_time_none * 100,
        s.share_of_time_full * 100);
    text += fmt::format(
        "  losses        {} in {:.1f} h, {:.3f} an hour, {:.2f} instances each, {:.0f} % "
        "take everything\n",
        s.loss_events, to_hours(s.length), s.loss_events_per_hour, s.instances_lost_per_event,
        s.share_of_total_losses * 100);
    if (s.instances_max > 1) {
        text += fmt::format("  burst sizes   {}\n", quantiles(detail.burst_sizes, "instances"));
    }
    text += fmt::format("  runs with any {}\n", quantiles(detail.up_runs_h, "h"));
    text += fmt::format("  runs without  {}\n", quantiles(detail.down_runs_h, "h"));
    text += "                runs that the record's ends cut off are left out\n";
    const auto values = traces::column_means(*series.availability, traces::chart_columns(width));
    text += traces::chart(values, 0, std::max(1, s.instances_max), 4, width,
                          fmt::format("instances over {:.1f} h", to_hours(s.length)));
    const auto hours = traces::by_hour_of_day(*series.availability, series.start);
    if (!hours) return text;
    std::vector<double> wide;  // two characters an hour
    for (const double hour : *hours) wide.insert(wide.end(), 2, hour);
    text += traces::chart(wide, 0, std::max(1, s.instances_max), 3, width,
                          "instances by hour of the day, 0 to 24 UTC");
    return text;
}

std::string price_text(const traces::TraceSeries& series, std::size_t width) {
    const traces::PriceStatistics s = traces::statistics_of(*series.price);
    const traces::PriceDetail detail = traces::detail_of(*series.price);
    std::string text = fmt::format(
        "  price         {:.4f} USD/h on average, {:.4f} to {:.4f}; 10 % {:.4f}, median "
        "{:.4f}, 90 % {:.4f}, 99 % {:.4f}\n",
        s.usd_per_hour_mean, to_dollars_per_hour(s.min), to_dollars_per_hour(s.max), detail.usd_p10,
        detail.usd_median, detail.usd_p90, detail.usd_p99);
    text += fmt::format(
        "  changes       {} ({:.2f} a day, {:.2f} % each); {} jumps of more than a tenth, "
        "the largest of {:.0f} %\n",
        s.changes, s.changes_per_day, s.step_share_mean * 100, detail.jumps,
        detail.jump_share_max * 100);
    if (s.changes == 0) return text;
    const auto values = traces::column_means(*series.price, traces::chart_columns(width));
    text +=
        traces::chart(values, 0, to_dollars_per_hour(s.max), 4, width,
                      fmt::format("USD/h over {:.1f} h, means of each column", to_hours(s.length)));
    return text;
}

std::string label_of(const traces::TraceSeries& series) {
    std::string label = series.zone;
    if (!series.instance_type.empty()) label += (label.empty() ? "" : " ") + series.instance_type;
    return shortened(one_line(label), 40);
}

std::string lifetimes_text(const std::vector<traces::Lifetime>& lifetimes, std::size_t width) {
    const auto lost = std::ranges::count(lifetimes, true, &traces::Lifetime::was_lost);
    std::string text =
        fmt::format("  lifetimes     {} instances, {} taken, {} given back or still there\n",
                    lifetimes.size(), lost, std::ssize(lifetimes) - lost);
    const std::vector<traces::SurvivalStep> survival = traces::survival_of(lifetimes);
    if (survival.empty()) return text;
    const double longest = survival.back().hours;
    std::vector<double> alive;
    for (std::size_t column = 0; column < traces::chart_columns(width); ++column) {
        const double hours = longest * static_cast<double>(column) /
                             static_cast<double>(traces::chart_columns(width));
        double share = 1;
        for (const traces::SurvivalStep& step : survival) {
            if (step.hours <= hours) share = step.alive;
        }
        alive.push_back(share);
    }
    text += traces::chart(alive, 0, 1, 4, width,
                          fmt::format("share alive (Kaplan-Meier), 0 to {:.1f} h", longest));
    return text;
}

std::string correlations_text(const std::vector<traces::TraceSeries>& series) {
    std::vector<const traces::TraceSeries*> shown;
    for (const traces::TraceSeries& one : series) {
        if (one.availability && !one.start.empty() && shown.size() < 10) shown.push_back(&one);
    }
    if (shown.size() < 2) return {};
    std::string text = "correlation of hourly samples\n";
    for (std::size_t i = 0; i < shown.size(); ++i) {
        text += fmt::format("  {:<30}", shortened(label_of(*shown[i]), 29));
        for (std::size_t j = 0; j <= i; ++j) {
            const auto one = traces::correlation(*shown[i], *shown[j]);
            text += fmt::format("{:>6}", one ? fmt::format("{:.2f}", *one) : "-");
        }
        text += "\n";
    }
    return text;
}

std::string trace_text(const std::string& what, const traces::Trace& trace,
                       const DescribeOptions& options) {
    const std::size_t width = width_of(options);
    std::string text = fmt::format("{}: {}\n", one_line(what), trace.report.form);
    std::size_t printed = 0;
    for (const traces::TraceSeries& series : trace.series) {
        if (++printed > options.series_max) {
            text += fmt::format("  and {} series more (--series-max)\n",
                                trace.series.size() - options.series_max);
            break;
        }
        if (!label_of(series).empty()) text += fmt::format("  {}\n", label_of(series));
        if (series.availability) text += availability_text(series, width);
        if (series.price) text += price_text(series, width);
    }
    if (!trace.lifetimes.empty()) text += lifetimes_text(trace.lifetimes, width);
    if (!trace.listed_prices.empty()) {
        text += fmt::format("  a price list with {} prices\n", trace.listed_prices.size());
    }
    if (!trace.bands.empty()) {
        text += fmt::format("  {} bands of interruption\n", trace.bands.size());
    }
    return text;
}

plots::FigureResult draw(const DescribeOptions& options, analysis::DescribedMarket&& market,
                         analysis::OutputFolder& out) {
    const auto& first = options.files.front();
    market.title = shortened(traces::trace_name(first), 34);
    if (options.files.size() > 1) {
        market.title += fmt::format(" and {} more", options.files.size() - 1);
    }
    std::optional<traces::MarketParameters> parameters;
    if (!options.market.empty()) {
        parameters = analysis::market_parameters_of(options.market, "--market");
    }
    plots::FigureResult figures =
        plots::draw_all(analysis::market_figures(market, parameters, options.log_time),
                        out.staging(), figure_options(options.output.figures));
    if (figures.files.empty() && figures.problem.empty()) {
        fmt::print(stderr, "figures: nothing here can be drawn\n");
        return figures;
    }
    out.commit();
    return out.settled(figures);
}

void check_options(const DescribeOptions& options) {
    expect_folder(options.output);
    if (!options.output.out.empty()) {
        if (!options.market.empty()) analysis::market_parameters_of(options.market, "--market");
        return;
    }
    for (const auto& [name, is_there] : {std::pair{"--market", !options.market.empty()},
                                         std::pair{"--log-time", options.log_time == true},
                                         std::pair{"--linear-time", options.log_time == false}}) {
        if (is_there) throw InputError(name, "", "is about figures: expected --out beside it");
    }
}

void describe_files(const DescribeOptions& options, analysis::OutputFolder* out) {
    CsvFile csv(options.output);
    analysis::DescribedMarket market;
    std::vector<traces::TraceSeries>& all = market.series;
    std::vector<analysis::DescribedSeries> rows;
    std::string text;
    const auto add = [&](const std::string& what, traces::Trace&& trace) {
        text += trace_text(what, trace, options);
        for (traces::TraceSeries& series : trace.series) {
            const bool alone = trace.series.size() == 1;
            market.names.push_back(alone ? trace.name : label_of(series));
            rows.push_back({what, series});
            if (series.zone.empty()) series.zone = trace.name;
            all.push_back(std::move(series));
        }
        std::ranges::move(trace.lifetimes, std::back_inserter(market.lifetimes));
    };
    std::vector<analysis::NamedRecord> records =
        analysis::read_records({options.files, options.zone, options.instance_type, options.gap,
                                options.join, options.zones});
    const std::vector<std::string> warnings = analysis::warnings_of(records);
    for (analysis::NamedRecord& one : records) {
        if (options.zones) {
            for (const std::string& note : one.trace.report.notes) {
                text += fmt::format("market: {}\n", one_line(note));
            }
        }
        add(one.name, std::move(one.trace));
    }
    text += correlations_text(all);
    analysis::warn(warnings, false);
    plots::FigureResult figures;
    if (out != nullptr) figures = draw(options, std::move(market), *out);
    // What cannot be written leaves its error alone.
    if (figures.problem.empty() || figures.skipped) {
        fmt::print("{}", options.output.json ? analysis::series_json(rows) : text);
    }
    if (csv.is_wanted()) csv.write(analysis::series_csv(rows));
    if (!figures.files.empty()) say_results(options.output, out->path(), figures);
    if (!analysis::say_figures(figures)) throw ExitWith{exit_machine_failed};
}

void describe(const DescribeOptions& options) {
    if (options.topology.empty() == options.files.empty()) {
        throw InputError("describe", "",
                         fmt::format("expected traces or --topology, found {}",
                                     options.files.empty() ? "neither" : "both"));
    }
    const OutputOptions& output = options.output;
    if (options.topology.empty()) check_options(options);
    if (!options.topology.empty() && (output.json || !output.csv.empty())) {
        throw InputError(output.json ? "--json" : "--csv", "",
                         "is about traces: a topology is told in words");
    }
    std::optional<analysis::OutputFolder> out;
    if (!output.out.empty()) out.emplace(output.out, output.force);
    analysis::OutputFolder* const folder = out ? &*out : nullptr;
    if (options.topology.empty()) return describe_files(options, folder);
    describe_topology(options.topology, options.machines, folder, output);
}

}  // namespace

void add_describe(CLI::App& app) {
    auto options = std::make_shared<DescribeOptions>();
    CLI::App* command =
        app.add_subcommand("describe", "what a recorded market, or a machine, is like");
    command->add_option("TRACE", options->files, "trace files of any known form");
    CLI::Option* topology =
        command->add_option("--topology", options->topology,
                            "instead of traces: a machine (ukemi list machines), or a file: a "
                            "cluster, NCCL's dump, nvidia-smi topo -m");
    command->add_option("--machines", options->machines, "so many of that machine, on one switch")
        ->needs(topology);
    command->add_flag("--join", options->join, "all files are one record: pages, rounds, months");
    command->add_flag("--zones", options->zones,
                      "the files are zones (and their prices) of one market, on one calendar");
    command->add_option("--zone", options->zone, "this zone only, of a file with several");
    command->add_option("--type", options->instance_type, "this instance type only");
    command->add_option("--gap", options->gap, "time between samples, for forms that lack it");
    command->add_option("--width", options->width, "characters a line (the terminal's, up to 100)")
        ->check(CLI::Range(traces::chart_width_min, traces::chart_width_max));
    command->add_option("--series-max", options->series_max, "how many series of a file to show");
    add_output_options(
        *command, options->output,
        {"print the series as JSON instead of words", "write a row a series to this file, too",
         "folder for figures: market over time, lifetimes, losses by hour; or the "
         "topology"});
    command->add_option("--market", options->market,
                        "draw beside them what this market generates: a name of `ukemi list "
                        "markets`, or a file of `ukemi fit`");
    command->add_flag_callback(
        "--log-time", [options] { options->log_time = true; },
        "lifetimes on a logarithmic axis (default: where they span decades)");
    command->add_flag_callback(
        "--linear-time", [options] { options->log_time = false; }, "lifetimes on a linear axis");
    command->callback([options] { describe(*options); });
}

}  // namespace ukemi::cli
