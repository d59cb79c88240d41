// schedule_figures.cpp — the figures of a results folder of jobs that share a cluster, from its
// tables, of the first seed: completion times, finish-time ratios, the queue, and who held which
// GPU.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/schedule_results.hpp"
#include "analysis/seeded_figures.hpp"
#include "base/read_file.hpp"
#include "base/text_scan.hpp"
#include "traces/csv_scanner.hpp"

namespace ukemi::analysis {

using nlohmann::json;

namespace {

struct SeenJob {
    std::string name;
    double arrival_h = 0;
    std::optional<double> took_h;  // nothing: it is not complete
    bool waits_on = false;         // for ever, as it is not
    std::optional<double> ratio;
    std::array<double, records::cause_count> gpu_h{};  // that it held, by cause
};

struct SeenSpan {
    std::string job;
    double begin_h = 0;
    double end_h = 0;
    double gpus = 0;
    std::vector<std::pair<std::size_t, std::int32_t>> machines;  // and GPUs on each
};

// What the tables say of one scheduler and variant.
struct SeenSchedule {
    std::string name;
    std::vector<SeenJob> jobs;
    std::vector<SeenSpan> spans;
    double end_h() const {
        double end = 0;
        for (const SeenJob& job : jobs) end = std::max(end, job.arrival_h + job.took_h.value_or(0));
        for (const SeenSpan& span : spans) end = std::max(end, span.end_h);
        return end;
    }
};

double real_in(const traces::CsvScanner& csv, std::size_t column) {
    const auto billionths = parse_decimal(csv.field(column), 9, DecimalGrammar::json);
    if (!billionths) csv.fail(column, "a number");
    return static_cast<double>(*billionths) / 1e9;
}

// The schedules of the first seed, by the rows of one of their tables.
class FirstSchedules {
public:
    FirstSchedules(std::vector<SeenSchedule>& all, traces::CsvScanner& csv)
        : all_(all), csv_(csv), seed_(csv.column("seed")), scheduler_(csv.column("scheduler")) {}

    // Of the row that was read last; nothing for another seed's.
    SeenSchedule* of_row() {
        if (first_seed_.empty()) first_seed_ = csv_.field(seed_);
        if (csv_.field(seed_) != first_seed_) {
            several_ = true;
            return nullptr;
        }
        std::string name(csv_.field(scheduler_));
        for (std::size_t i = 0; i < seed_; ++i) {  // what was varied stands before it
            name += fmt::format(", {} {}", csv_.header(i), csv_.field(i));
        }
        const auto known = std::ranges::find(all_, name, &SeenSchedule::name);
        return known == all_.end() ? &all_.emplace_back(SeenSchedule{name, {}, {}}) : &*known;
    }

    // What titles say where there are others; empty: there are none.
    std::string seed_note() const {
        return several_ ? fmt::format(", of seed {} alone", first_seed_) : std::string();
    }

private:
    std::vector<SeenSchedule>& all_;
    traces::CsvScanner& csv_;
    std::size_t seed_;
    std::size_t scheduler_;
    std::string first_seed_;
    bool several_ = false;
};

// Returns the note for titles.
std::string read_jobs_table(const std::filesystem::path& file, std::vector<SeenSchedule>& all) {
    const std::string text = read_file(file);
    traces::CsvScanner csv(text, file.string());
    csv.read_header();
    FirstSchedules schedules(all, csv);
    const std::size_t job = csv.column("job");
    const std::size_t arrival = csv.column("arrival_s");
    const std::size_t completion = csv.column("completion_s");
    const std::size_t ratio = csv.column("finish_time_ratio");
    const std::size_t in_time = csv.column("in_time");
    std::array<std::size_t, records::cause_count> causes{};
    for (std::size_t i = 0; i < causes.size(); ++i) {
        causes[i] = csv.column(fmt::format("{}_gpu_s", records::cause_names()[i]));
    }
    while (csv.next_row()) {
        SeenSchedule* const own = schedules.of_row();
        if (own == nullptr) continue;
        SeenJob& one = own->jobs.emplace_back();
        one.name = csv.field(job);
        one.arrival_h = to_hours(csv.seconds(arrival));
        if (!csv.field(completion).empty()) one.took_h = to_hours(csv.seconds(completion));
        one.waits_on = csv.field(in_time) == "stuck" || csv.field(in_time) == "failed";
        if (!csv.field(ratio).empty()) one.ratio = real_in(csv, ratio);
        for (std::size_t i = 0; i < causes.size(); ++i) {
            one.gpu_h[i] = real_in(csv, causes[i]) / 3600;
        }
    }
    return schedules.seed_note();
}

// "0:4 1:2"
std::vector<std::pair<std::size_t, std::int32_t>> machines_in(const traces::CsvScanner& csv,
                                                              std::size_t column) {
    std::vector<std::pair<std::size_t, std::int32_t>> machines;
    std::string_view rest = csv.field(column);
    while (!rest.empty()) {
        const std::string_view one = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(rest.size(), one.size() + 1));
        const std::size_t colon = std::min(one.find(':'), one.size());
        const auto machine = parse_whole(one.substr(0, colon), DecimalGrammar::json);
        const auto gpus =
            parse_whole(one.substr(std::min(colon + 1, one.size())), DecimalGrammar::json);
        if (!machine || !gpus || *machine < 0 || *gpus < 1 || *gpus > 1'000) {
            csv.fail(column, "machines and GPUs such as \"0:4 1:2\"");
        }
        machines.emplace_back(static_cast<std::size_t>(*machine), static_cast<std::int32_t>(*gpus));
    }
    return machines;
}

void read_spans_table(const std::filesystem::path& file, std::vector<SeenSchedule>& all) {
    const std::string text = read_file(file);
    traces::CsvScanner csv(text, file.string());
    csv.read_header();
    FirstSchedules schedules(all, csv);
    const std::size_t job = csv.column("job");
    const std::size_t begin = csv.column("begin_s");
    const std::size_t end = csv.column("end_s");
    const std::size_t gpus = csv.column("gpus");
    const std::size_t machines = csv.column("machines");
    while (csv.next_row()) {
        SeenSchedule* const own = schedules.of_row();
        if (own == nullptr) continue;
        SeenSpan& one = own->spans.emplace_back();
        one.job = csv.field(job);
        one.begin_h = to_hours(csv.seconds(begin));
        one.end_h = to_hours(csv.seconds(end));
        one.gpus = real_in(csv, gpus);
        one.machines = machines_in(csv, machines);
    }
}

std::vector<plots::SurvivalInput> completion_times(std::span<const SeenSchedule> all) {
    plots::SurvivalInput figure;
    figure.file_stem = "completion_times";
    figure.title = "jobs that share a cluster";
    figure.time_axis = "time from arrival to end";
    figure.share_axis = "share of jobs that take longer";
    figure.simulated = true;
    for (const SeenSchedule& seen : all) {
        std::vector<double> times;
        for (const SeenJob& job : seen.jobs) {
            if (job.took_h) times.push_back(*job.took_h);
        }
        std::ranges::sort(times);
        if (times.empty()) continue;
        plots::SurvivalCurve& curve = figure.curves.emplace_back();
        curve.name = seen.name;
        if (times.size() < seen.jobs.size()) {
            curve.name += fmt::format(" ({} of {})", times.size(), seen.jobs.size());
        }
        for (std::size_t i = 0; i < times.size(); ++i) {
            const double longer = static_cast<double>(times.size() - 1 - i);
            if (i + 1 < times.size() && times[i + 1] == times[i]) continue;
            curve.alive.emplace_back(times[i], longer / static_cast<double>(times.size()));
        }
    }
    constexpr std::size_t curves_that_fit = 12;
    const bool fit = !figure.curves.empty() && figure.curves.size() <= curves_that_fit;
    return fit ? std::vector{std::move(figure)} : std::vector<plots::SurvivalInput>();
}

// By what share of the jobs the ratio is not above so much.
plots::VariationInput fairness_lines(std::span<const SeenSchedule> all) {
    plots::VariationInput figure;
    figure.title = "how much sharing delays jobs";
    figure.axis = "completion time over that on an equal part of the cluster";
    figure.column = "finish_time_ratio";
    figure.quantities = {
        {.panel = "fairness", .axis = "share of jobs up to that", .column = "share"}};
    figure.columns = {""};
    figure.steps = true;
    for (const SeenSchedule& seen : all) {
        std::vector<double> ratios;
        for (const SeenJob& job : seen.jobs) {
            if (job.ratio) ratios.push_back(*job.ratio);
        }
        if (ratios.empty() || ratios.size() < seen.jobs.size()) continue;
        std::ranges::sort(ratios);
        plots::VariationLine& line = figure.lines.emplace_back();
        line.policy = seen.name;
        for (std::size_t i = 0; i < ratios.size(); ++i) {
            if (i + 1 < ratios.size() && ratios[i + 1] == ratios[i]) continue;
            const double share = static_cast<double>(i + 1) / static_cast<double>(ratios.size());
            line.points.push_back({.at = ratios[i], .values = {{.mean = share}}});
        }
    }
    return figure;
}

// How many of the sorted instants are not after `now`.
double reached(const std::vector<double>& instants, double now) {
    return static_cast<double>(std::ranges::upper_bound(instants, now) - instants.begin());
}

// At evenly spaced instants: jobs that have come, are not complete and hold nothing; and the share
// of the cluster's GPUs that is held.
plots::VariationInput queue_lines(std::span<const SeenSchedule> all, double gpus) {
    constexpr std::size_t instants = 400;
    plots::VariationInput figure;
    figure.title = "jobs that wait, and GPUs in use";
    figure.axis = figure.column = "time";
    figure.hours = true;
    figure.quantities = {{.panel = "waiting", .axis = "jobs waiting", .column = "waiting"},
                         {.panel = "use", .axis = "GPUs in use (%)", .column = "use_percent"}};
    figure.columns = {""};
    figure.steps = true;
    for (const SeenSchedule& seen : all) {
        std::array<std::vector<double>, 4> times;  // came, ended, began to hold, ceased to
        std::map<std::string_view, double> held_until_h;
        for (const SeenSpan& span : seen.spans) {
            double& until = held_until_h.try_emplace(span.job, span.end_h).first->second;
            until = std::max(until, span.end_h);
        }
        for (const SeenJob& job : seen.jobs) {
            const auto held = held_until_h.find(job.name);
            const bool was_there = job.took_h || job.waits_on || held != held_until_h.end();
            if (!was_there) continue;  // refused
            times[0].push_back(job.arrival_h);
            if (job.took_h) {
                times[1].push_back(job.arrival_h + *job.took_h);
            } else if (!job.waits_on) {
                times[1].push_back(held->second);  // stopped
            }
        }
        std::vector<double> use(instants);
        const double step = seen.end_h() / static_cast<double>(instants - 1);
        if (!(step > 0)) continue;
        for (const SeenSpan& span : seen.spans) {
            times[2].push_back(span.begin_h);
            times[3].push_back(span.end_h);
            const auto first = static_cast<std::size_t>(std::ceil(span.begin_h / step));
            for (std::size_t i = first; i < instants && static_cast<double>(i) * step < span.end_h;
                 ++i) {
                use[i] += span.gpus;
            }
        }
        for (std::vector<double>& one : times) std::ranges::sort(one);
        plots::VariationLine& line = figure.lines.emplace_back();
        line.policy = seen.name;
        for (std::size_t i = 0; i < instants; ++i) {
            const double now = static_cast<double>(i) * step;
            const double live = reached(times[0], now) - reached(times[1], now);
            const double running = reached(times[2], now) - reached(times[3], now);
            line.points.push_back({.at = now,
                                   .values = {{.mean = std::max(0.0, live - running)},
                                              {.mean = 100 * use[i] / gpus}}});
        }
    }
    return figure;
}

// The GPUs of each machine, as the scenario says.
std::vector<std::int32_t> gpus_of_machines(const json& about) {
    std::vector<std::int32_t> gpus;
    const json cluster = about.value("/scenario/cluster"_json_pointer, json::object());
    const json groups = cluster.is_array() ? cluster : json::array({cluster});
    for (const json& group : groups) {
        const auto machines = group.value("machines", std::size_t{1});
        gpus.insert(gpus.end(), std::min<std::size_t>(machines, 100'000),
                    group.value("gpus_per_machine", std::int32_t{1}));
    }
    return gpus;
}

// Each span takes the first GPUs of its machines that are free; as they need not lie together, it
// may be several bars. Nothing where a machine has fewer than that, or a span is on none: it has
// parts of GPUs. Spans are in the order in which they begin.
std::vector<plots::MachineUseInput::Bar> bars_on_machines(
    const std::vector<const SeenSpan*>& spans, const std::map<std::string, std::size_t>& numbers,
    const std::vector<std::int32_t>& gpus_of) {
    std::vector<plots::MachineUseInput::Bar> bars;
    std::vector<std::vector<double>> free_from;  // by machine and GPU
    for (const std::int32_t gpus : gpus_of) free_from.emplace_back(gpus, -1);
    for (const SeenSpan* span : spans) {
        if (span->machines.empty() && span->gpus > 0) return {};
        for (const auto& [machine, gpus] : span->machines) {
            if (machine >= free_from.size()) return {};
            std::int32_t left = gpus;
            for (std::size_t i = 0; i < free_from[machine].size() && left > 0; ++i) {
                if (free_from[machine][i] > span->begin_h) continue;
                free_from[machine][i] = span->end_h;
                --left;
                const auto gpu = static_cast<std::int32_t>(i);
                const bool goes_on = !bars.empty() && left + 1 < gpus &&
                                     bars.back().first_gpu + bars.back().gpus == gpu;
                if (goes_on) {
                    ++bars.back().gpus;
                } else {
                    bars.push_back(
                        {machine, gpu, 1, span->begin_h, span->end_h, numbers.at(span->job)});
                }
            }
            if (left > 0) return {};
        }
    }
    return bars;
}

// Nothing where nobody held anything, or somebody did who is no job.
std::optional<plots::MachineUseInput> machine_use(const SeenSchedule& seen,
                                                  const std::vector<std::int32_t>& gpus_of) {
    plots::MachineUseInput figure;
    figure.title = fmt::format("GPUs by job, {}", seen.name);
    figure.gpus_of = gpus_of;
    std::map<std::string, std::size_t> numbers;
    for (const SeenJob& job : seen.jobs) {
        numbers[job.name] = figure.jobs.size();
        figure.jobs.push_back(job.name);
    }
    std::vector<const SeenSpan*> spans;
    for (const SeenSpan& span : seen.spans) {
        if (!numbers.contains(span.job)) return std::nullopt;
        if (span.end_h > span.begin_h && span.gpus > 0) spans.push_back(&span);
    }
    if (spans.empty()) return std::nullopt;
    std::ranges::stable_sort(spans, {}, [](const SeenSpan* span) { return span->begin_h; });
    for (const SeenSpan* span : spans) {
        figure.spans.push_back({numbers.at(span->job), span->begin_h, span->end_h, span->gpus});
    }
    figure.bars = bars_on_machines(spans, numbers, gpus_of);
    return figure;
}

std::vector<plots::JobHours> job_hours(std::span<const SeenSchedule> all) {
    std::vector<plots::JobHours> rows;
    for (const SeenSchedule& seen : all) {
        for (const SeenJob& job : seen.jobs) rows.push_back({seen.name, job.name, job.gpu_h});
    }
    return rows;
}

}  // namespace

plots::FigureInput read_scheduled(const std::filesystem::path& folder) {
    std::vector<SeenSchedule> all;
    const std::string of_seed = read_jobs_table(folder / "jobs.csv", all);
    read_spans_table(folder / "spans.csv", all);
    plots::FigureInput input;
    input.completions = completion_times(all);
    for (plots::SurvivalInput& figure : input.completions) figure.title += of_seed;
    static const std::array quantities{
        SeededQuantity{{.panel = "completion",
                        .axis = "completion time",
                        .column = "completion",
                        .hours = true},
                       "completion_s_mean",
                       1 / 3600.0},
        SeededQuantity{
            {.panel = "makespan", .axis = "makespan", .column = "makespan", .hours = true},
            "makespan_s",
            1 / 3600.0}};
    input.variations = seeded_variations(folder / "schedule.json", "scheduler", quantities);
    const json about = json::parse(read_file(folder / "run.json"), nullptr, false);
    if (!about.is_object()) return input;
    const std::vector<std::int32_t> gpus_of = gpus_of_machines(about);
    double gpus = 0;
    for (const std::int32_t one : gpus_of) gpus += one;
    plots::VariationInput queues = queue_lines(all, gpus);
    queues.title += of_seed;
    if (!queues.lines.empty()) input.queues = {std::move(queues)};
    plots::VariationInput ratios = fairness_lines(all);
    ratios.title += of_seed;
    if (!ratios.lines.empty()) input.finish_time_ratios = {std::move(ratios)};
    input.job_hours = job_hours(all);
    for (const SeenSchedule& seen : all) {
        auto use = machine_use(seen, gpus_of);
        if (!use) continue;
        use->title += of_seed;
        const std::size_t number = input.machine_uses.size() + 1;
        use->file_stem = number == 1 ? "gpus_by_job" : fmt::format("gpus_by_job-{}", number);
        input.machine_uses.push_back(std::move(*use));
    }
    return input;
}

}  // namespace ukemi::analysis
