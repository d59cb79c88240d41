// figures.hpp — the figures, from plain structs to pictures on disk.
//
// A figure writes its data (CSV), its gnuplot script (complete: `gnuplot NAME.gp` in that folder
// draws it again) and then NAME.svg and NAME.png. It owns nothing and reads nothing: what it shows
// is what it was given. Names of policies and traces may hold any bytes; none of them reaches
// gnuplot as anything but text. To add a figure: its .cpp, one line in the table, one test.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plots/figure_style.hpp"

namespace ukemi::plots {

// Where a held instance's money went, in the order of RunPoint::usd_by_cause.
inline constexpr std::array<std::string_view, 6> cost_causes = {
    "useful", "redone", "transition", "checkpoint", "idle", "wasted"};

// Where instances were bought, in the order of RunPoint::usd_by_market.
inline constexpr std::array<std::string_view, 2> bought_markets = {"spot", "on_demand"};

// One finished run of one policy.
struct RunPoint {
    std::string policy;
    std::string trace;
    std::uint64_t seed = 0;
    double cost_usd = 0;
    double duration_h = 0;
    std::optional<bool> deadline_met = true;  // nothing where there is no deadline
    std::array<double, cost_causes.size()> usd_by_cause{};
    std::optional<double> deadline_h = std::nullopt;
    std::string variant = {};        // what tells its scenario from others: "/job/deadline=60 h"
    std::string other_variant = {};  // the same without the deadline
    // What it shares with other runs of its policy: intervals are over these. Nothing: it is by
    // itself.
    std::optional<std::size_t> cluster = std::nullopt;
    // The same dollars by market. Nothing: nobody knows.
    std::optional<std::array<double, bought_markets.size()>> usd_by_market = std::nullopt;
    double egress_usd = 0;  // what moving state between regions cost, beside causes and markets
};

// What a policy costs beyond another, as the mean over pairs of runs.
struct PairedCost {
    std::string variant;
    std::string policy;
    std::string baseline;
    double usd_mean = 0;
    double usd_low_95 = 0;
    double usd_high_95 = 0;
    bool significant = false;
};

// (hours since the start, value), in order of time.
using PlotPoints = std::vector<std::pair<double, double>>;

// Between two lines with the same places. Empty: there is none.
struct PlotBand {
    PlotPoints low;
    PlotPoints high;
};

// One run over time. Every value holds until the next point, except progress, which is joined by
// lines (work that is lost is two points at one time). An empty series is left out.
struct TimelineInput {
    std::string file_stem = "timeline";  // of the files; letters, digits, '_' and '-'
    std::string title;
    PlotPoints spot_held;       // instances
    PlotPoints on_demand_held;  // instances
    PlotPoints workers;         // instances that train together; empty: all that are held
    PlotPoints capacity;        // spot instances that could be held
    PlotPoints price;           // USD per instance-hour
    PlotBand prices;            // of several zones, the lowest and the highest, in place of it
    PlotPoints progress;        // share of the work done, 0 to 1
    std::vector<double> revocations_h;
    std::optional<double> deadline_h;
    double end_h = 0;
    int instances_max = 0;
    std::string policy = {};  // whose colour the progress has
};

// One zone of a market over time. Every value holds until the next point; an empty series is left
// out, but not both.
struct MarketZone {
    std::string name;
    PlotPoints capacity;  // instances that can be held
    PlotPoints price;     // USD per instance-hour
    double begin_h = 0;
    double end_h = 0;
};

struct MarketInput {
    std::string file_stem = "market_over_time";
    std::string title;
    std::string time_axis = "time";  // without its unit, which is chosen by the span
    std::vector<MarketZone> zones;
};

// How long something lasted: a step curve down from one.
struct SurvivalCurve {
    std::string name;
    bool generated = false;
    PlotPoints alive;  // (hours, share that lasted longer), from each point on; (0, 1) goes without
};

struct SurvivalInput {
    std::string file_stem = "lifetimes";
    std::string title;      // what lasted
    std::string time_axis;  // without its unit, which is chosen by the span
    std::vector<SurvivalCurve> curves;
    std::optional<bool> log_time = std::nullopt;  // nothing: where the times span decades
    // Of simulations alone: names say nothing of where curves come from, and twice as many fit.
    bool simulated = false;
    std::string share_axis = "share that lasted longer";
};

// On which share of the days there was a loss in each hour of the day.
struct HourlyLosses {
    std::string name;
    bool generated = false;
    std::array<double, 24> share_of_days{};
};

// Devices and the cables between them; of a device, only its machine and its kind place it. A
// device is known by its position in the list. Networks of more than a few machines show each
// as one dot.
struct TopologyInput {
    struct Device {
        std::string kind;  // "gpu", "cpu", "pcie_switch", "nvswitch", "nic", "network_switch"
        std::string name;  // short
        int machine = -1;  // -1: of the network
    };
    struct Cable {  // both directions
        int from = 0;
        int to = 0;
        std::string kind;  // "nvlink", "pcie", "socket", "network"
        int lanes = 1;
        double gb_per_s = 0;  // of all lanes, one direction
    };
    std::string title;
    std::vector<Device> devices;
    std::vector<Cable> cables;
};

// A run that learns, or the mean of several, over time in hours and over the samples it has used.
// The batch holds until the next point; the others are joined by lines. What nobody knows is left
// out. A band is how sure the mean beside it is.
struct LearningRun {
    std::string name;
    PlotPoints learned;  // share of the way to the target
    PlotPoints metric;
    PlotPoints batch;  // samples of a step
    PlotBand learned_band = {};
    PlotBand metric_band = {};
    PlotBand batch_band = {};
    PlotPoints metric_by_samples = {};
    PlotBand metric_by_samples_band = {};
    PlotPoints noise_by_samples = {};  // the gradient noise scale, above zero
    PlotBand noise_by_samples_band = {};
};

// What a change of the training group goes through, in the order of TransitionRow's numbers.
inline constexpr std::array<std::string_view, 6> transition_parts = {
    "notice", "drain", "spawn", "rendezvous", "transfer", "warm-up"};

// The changes of the group of one policy or system, means of a run.
struct TransitionRow {
    std::string name;
    double transitions = 0;
    std::array<double, transition_parts.size()> standstill_s{};  // of the group
    std::array<double, transition_parts.size()> machine_h{};     // of machines kept busy
};

// What became of a quantity at one varied number: the mean, and its 95 % interval where it is over
// several.
struct VariationValue {
    double mean = 0;
    std::optional<std::pair<double, double>> interval_95 = std::nullopt;
    std::optional<double> ideal = std::nullopt;      // what it would be if nothing were lost
    std::optional<double> published = std::nullopt;  // what somebody else measured
    std::size_t published_as = 0;                    // what that is: its place in the list of words
    bool given = false;  // the mean was typed in or fitted: it predicts nothing
};
struct VariationPoint {
    double at = 0;
    std::vector<VariationValue> values;  // of each quantity
    double missed_share = 0;             // of the runs: that missed a deadline, or did not finish
};
struct VariationLine {
    std::string policy;  // or whatever else a line stands for
    std::size_t column = 0;
    std::vector<VariationPoint> points;
    bool published = false;  // somebody else measured all of it
};
struct VariationQuantity {
    std::string panel;     // as --only calls it: "cost"
    std::string axis;      // "cost (USD)"
    std::string column;    // of the table: "cost_usd"
    bool log_too = false;  // its axis is logarithmic where the numbers' is
    bool log = false;      // it is logarithmic everywhere
    bool hours = false;    // values are hours: axis and column are without their unit, which is
                           // chosen by their size
};

// A number that was varied, and what it did to each policy: a row of panels for each quantity, a
// column for each value of a second variation.
struct VariationInput {
    std::string title;
    std::string axis;            // "checkpoint interval (min)"
    std::string column;          // of the table: "checkpoint_interval_min"
    std::string intervals_over;  // "6 zones"; empty where nobody said
    std::vector<VariationQuantity> quantities;
    std::vector<std::string> columns;  // at least one; a single one may have no name
    std::vector<VariationLine> lines;
    bool steps = false;  // a value holds until the next point; else lines join them
    bool hours = false;  // places are hours: axis and column are without their unit, as above
    // What stands at 0, 1, … on the axis, where these are no numbers; then nothing joins points.
    std::vector<std::string> places = {};
    // What published values are, as a key each says it: at most as many as there are marks.
    std::vector<std::string> published_as = {"published"};
    bool simulated = false;  // a key says that lines are: names do not
    // What stands at places of the axis in place of their numbers: "1 min". Empty: these do.
    std::map<double, std::string> tics = {};
};
inline constexpr std::size_t published_marks_max = 3;

// Where the time of a training step goes: means, in the order of the parts.
struct StepPartsInput {
    struct Part {
        std::string name;   // of the table's column: "sending"
        std::string words;  // "exposed communication"
    };
    struct Row {
        std::string name;
        std::vector<double> part_s;  // of each part
    };
    std::vector<Part> parts;
    std::vector<Row> rows;
};

// Who held how many GPUs when, and which of which machine.
struct MachineUseInput {
    struct Span {
        std::size_t job = 0;
        double begin_h = 0;
        double end_h = 0;
        double gpus = 0;  // or parts of some
    };
    struct Bar {
        std::size_t machine = 0;
        std::int32_t first_gpu = 0;  // of the machine
        std::int32_t gpus = 1;
        double begin_h = 0;
        double end_h = 0;
        std::size_t job = 0;
    };
    std::string file_stem = "gpus_by_job";
    std::string title;
    std::vector<std::int32_t> gpus_of;  // by machine
    std::vector<std::string> jobs;      // their names
    std::vector<Span> spans;
    std::vector<Bar> bars;  // the same, by machine; none where that is not known
};

// What the GPUs did that a job of a shared cluster held.
struct JobHours {
    std::string scheduler;  // and what was varied
    std::string job;
    std::array<double, cost_causes.size()> by_cause{};
};

struct FigureInput {
    std::vector<RunPoint> runs;
    std::string intervals_over;  // "6 zones"; empty where nobody said
    std::vector<PairedCost> differences;
    std::optional<double> deadline_h;
    std::vector<TimelineInput> timelines;
    std::vector<MarketInput> markets;
    std::vector<SurvivalInput> survivals;
    std::vector<SurvivalInput> completions;  // of jobs that share a cluster
    std::vector<HourlyLosses> hourly_losses;
    std::optional<TopologyInput> topology;
    std::vector<LearningRun> learning;
    std::vector<TransitionRow> transitions;
    std::vector<VariationInput> variations;
    std::optional<VariationInput> scaling;  // against workers
    std::optional<StepPartsInput> step_parts;
    std::vector<VariationInput> queues;              // of schedulers, over time
    std::vector<VariationInput> finish_time_ratios;  // of schedulers
    std::vector<MachineUseInput> machine_uses;
    std::vector<JobHours> job_hours;
    std::vector<VariationInput> found;  // by searchers, over time
};

struct FigureOptions {
    bool pdf = false;  // also NAME.pdf
    std::string gnuplot = "gnuplot";
    FigureStyle style = {};
};

// What was written, and one line on what was not. Without gnuplot the data and scripts are
// there all the same: that is `skipped`, and no failure.
struct FigureResult {
    std::vector<std::filesystem::path> files;
    std::string problem;
    bool skipped = false;
    std::vector<std::string> notes = {};  // what there was no room for: no failure either
};

// The folder is created. Throws std::system_error where the data cannot be written.
#define FIGURE(name, ...)                                                                   \
    FigureResult draw_##name(const FigureInput& input, const std::filesystem::path& folder, \
                             const FigureOptions& options = {});
#include "plots/figure_table.def"
#undef FIGURE

struct Figure {
    std::string_view name;
    std::string_view summary;
    std::string_view panels;  // names that --only knows, with spaces between; empty: only its own
    bool (*has_input)(const FigureInput&);
    FigureResult (*draw)(const FigureInput&, const std::filesystem::path& folder,
                         const FigureOptions&);
};
std::span<const Figure> all_figures();

// The figure that a file of this name, without its ending, shows: "timeline-greedy". Or nothing.
const Figure* figure_of_file(std::string_view stem);

// Whether the style leaves anything of it, or of this one of its files.
bool is_shown(const Figure& figure, const FigureStyle& style, std::string_view stem = {});

// What --only calls a figure, a panel, or a file of a figure, as FigureStyle::only has it: of a
// file, which may have its folder and its ending, the name. InputError with all names where no
// figure has that one.
std::string only_name(std::string_view name);

// What several figures gave: all files and notes, the problems joined, each said once.
void add_result(FigureResult& all, const FigureResult& one);

// Every figure for which there is input, and which the style shows, one after another.
FigureResult draw_all(const FigureInput& input, const std::filesystem::path& folder,
                      const FigureOptions& options = {});

}  // namespace ukemi::plots
