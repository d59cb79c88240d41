// experiments.cpp — the functions that the commands call: requests in, results out, and an eye on
// signals meanwhile.
#include <fmt/format.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "analysis/build_info.hpp"
#include "analysis/compared_runs.hpp"
#include "analysis/database/stored_runs.hpp"
#include "analysis/database/sweep_request.hpp"
#include "analysis/database/sweep_runs.hpp"
#include "analysis/report/report_part.hpp"
#include "analysis/requests/cluster_runs.hpp"
#include "analysis/requests/prepared_runs.hpp"
#include "analysis/requests/recorded_markets.hpp"
#include "analysis/requests/shipped_scenarios.hpp"
#include "analysis/result_doubts.hpp"
#include "analysis/results.hpp"
#include "analysis/schedule_results.hpp"
#include "analysis/search_results.hpp"
#include "analysis/series_table.hpp"
#include "analysis/simulated_steps.hpp"
#include "analysis/table.hpp"
#include "analysis/tuning/tuning_request.hpp"
#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "python/bindings.hpp"
#include "records/decision_log.hpp"
#include "records/run_json.hpp"
#include "traces/market_file.hpp"

namespace ukemi::python {

namespace {

namespace fs = std::filesystem;

// ---- work that Python waits for ----------------------------------------------------------------

// The work was told to stop; the one who told it knows why.
struct Stopped {};

// Between work on threads of its own and Python's thread, which waits for it.
class Watch {
public:
    // From the work, after each part of it: throws Stopped once nobody wants it any more.
    void report(std::size_t done, std::size_t total) {
        done_ = done;
        total_ = total;
        if (stopped_) throw Stopped{};
    }
    bool is_stopped() const { return stopped_; }
    void stop() { stopped_ = true; }
    // From Python's thread: signals and progress; throws what they raise.
    void look(const py::object& progress) const {
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        if (!progress.is_none() && total_ > 0) progress(done_.load(), total_.load());
    }

private:
    std::atomic<std::size_t> done_{0};
    std::atomic<std::size_t> total_{0};
    std::atomic<bool> stopped_{false};
};

// Does the work without holding Python up: other threads of Python go on, an interrupt ends it
// (replays and comparisons in the midst of their runs, others after those being made), and
// `progress` (None, or called with done and total) hears of it twenty times a second.
void watched(const py::object& progress, const std::function<void(Watch&)>& work) {
    constexpr auto look_every = std::chrono::milliseconds(50);
    Watch watch;
    std::exception_ptr failure;
    std::optional<py::error_already_set> raised;
    ++experiments_running;  // before another thread of Python may come to register a policy
    {
        const py::gil_scoped_release others_may_run;
        std::mutex mutex;
        std::condition_variable ended;
        bool is_over = false;
        std::jthread thread([&] {
            try {
                work(watch);
            } catch (...) {
                failure = std::current_exception();
            }
            const std::scoped_lock lock(mutex);
            is_over = true;
            ended.notify_all();
        });
        std::unique_lock lock(mutex);
        while (!ended.wait_for(lock, look_every, [&] { return is_over; })) {
            lock.unlock();
            {
                const py::gil_scoped_acquire python;
                try {
                    if (!raised) watch.look(progress);
                } catch (py::error_already_set& error) {
                    raised.emplace(error);
                    watch.stop();
                }
            }
            lock.lock();
        }
        lock.unlock();
        thread.join();
    }
    --experiments_running;
    if (raised) throw py::error_already_set(*raised);
    if (failure) std::rethrow_exception(failure);
    watch.look(progress);
}

// ---- what is asked for -------------------------------------------------------------------------

template <class Value>
void take(const py::dict& asked, const char* key, Value& value) {
    if (asked.contains(key)) value = asked[key].cast<Value>();
}

// The keys are members of RunRequest; python/ukemi/experiments.py has them.
void read_request(const py::dict& asked, analysis::RunRequest& request) {
    take(asked, "scenarios", request.scenarios);
    take(asked, "traces", request.traces);
    take(asked, "trace_files", request.trace_files);
    take(asked, "zones", request.zones);
    take(asked, "policies", request.policies);
    take(asked, "settings", request.variation.settings);
    take(asked, "varied", request.variation.varied);
    take(asked, "seeds", request.seeds);
    take(asked, "starts", request.starts);
    take(asked, "baseline", request.baseline);
    take(asked, "threads", request.threads);
}

scenarios::Details details_called(const std::string& name) {
    if (name == "none") return scenarios::Details::none;
    if (name == "first") return scenarios::Details::first;
    if (name == "all") return scenarios::Details::all;
    throw InputError("details", "",
                     fmt::format("expected none, first or all, found {}", ukemi::quoted(name)));
}

plots::FigureOptions figures_named(const std::vector<std::string>& only) {
    plots::FigureOptions options;
    for (const std::string& name : only) options.style.only.push_back(plots::only_name(name));
    return options;
}

// The drawings, and why there are not more.
std::pair<std::vector<fs::path>, std::string> drawn(const plots::FigureResult& figures) {
    std::vector<fs::path> svg;
    for (const fs::path& file : figures.files) {
        if (file.extension() == ".svg") svg.push_back(file);
    }
    return {svg, figures.problem};
}

using Drawn = std::pair<std::vector<fs::path>, std::string>;

// ---- replay and compare ------------------------------------------------------------------------

class MadeRuns {
public:
    MadeRuns(const py::dict& asked, bool windows_of_records, const py::object& progress) {
        analysis::RunRequest request;
        read_request(asked, request);
        std::string details = "first";
        scenarios::RunOptions options{true, true, false, false};
        take(asked, "details", details);
        take(asked, "log_observations", options.all_questions);
        take(asked, "log_events", options.events);
        watched(progress, [&](Watch& watch) {
            runs_ = analysis::prepare_runs(request, windows_of_records);
            runs_.setup.details = details_called(details);
            runs_.setup.options = options;
            runs_.setup.progress = [&](std::size_t done, std::size_t total) {
                watch.report(done, total);
            };
            runs_.setup.stopped = [&] { return watch.is_stopped(); };
            finished_ = scenarios::run_experiment(runs_.cases, runs_.setup);
            runs_.setup.progress = nullptr;
            runs_.setup.stopped = nullptr;
            for (const scenarios::FinishedRun& run : finished_) results_.push_back(run.result);
            runs_.inputs.warnings = analysis::warnings_about(results_);
            own_json_ = results_json(baseline());
        });
    }

    const std::string& baseline() const { return runs_.inputs.baseline; }
    const std::vector<std::string>& warnings() const { return runs_.inputs.warnings; }
    std::string called(const std::string& policy) const {
        std::vector<std::string> labels;
        for (const records::RunResult& run : results_) labels.push_back(run.policy);
        return analysis::policy_called(policy, labels, "baseline");
    }
    // By the baseline that was asked for; made beside the runs.
    const std::string& own_json() const { return own_json_; }
    std::string results_json(const std::string& baseline) const {
        return analysis::results_json(results_, baseline, warnings());
    }
    std::string comparison_json(const std::string& baseline) const {
        const analysis::ComparedRuns compared = analysis::compare_runs(results_, baseline);
        return analysis::comparison_json(compared.candidates, compared.pairs, warnings());
    }
    std::string runs_csv() const { return records::runs_csv(results_); }
    std::string table() const {
        return analysis::policy_table(results_, analysis::table_width_least) +
               analysis::phase_table(results_) + analysis::pipeline_table(results_);
    }
    // decisions.jsonl of a run; empty where none was kept.
    std::string decisions(std::size_t run) const { return finished_.at(run).decisions; }
    std::string events(std::size_t run) const { return finished_.at(run).events; }

    Drawn save_results(const fs::path& folder, bool force, const std::vector<std::string>& only) {
        analysis::OutputFolder out(folder, force);
        return drawn(analysis::write_results(out, runs_.inputs, finished_, figures_named(only)));
    }
    Drawn save_comparison(const fs::path& folder, bool force,
                          const std::vector<std::string>& only) {
        analysis::OutputFolder out(folder, force);
        const analysis::ComparedRuns compared = analysis::compare_runs(results_, baseline());
        return drawn(
            analysis::write_compared(out, runs_.inputs, results_, compared, figures_named(only)));
    }

private:
    analysis::PreparedRuns runs_;
    std::vector<scenarios::FinishedRun> finished_;
    std::vector<records::RunResult> results_;
    std::string own_json_;
};

// ---- simulate ----------------------------------------------------------------------------------

class MadeSteps {
public:
    MadeSteps(const fs::path& file, const std::vector<std::string>& settings,
              const std::vector<std::string>& varied, const py::object& progress) {
        watched(progress, [&](Watch& watch) {
            document_ = analysis::read_step_document(file);
            std::vector<ConfigOverride> overrides;
            for (const std::string& one : settings) overrides.push_back(parse_override(one));
            variants_ = analysis::simulate_steps(
                analysis::step_variants(document_, overrides, varied), 0,
                [&](std::size_t done, std::size_t total) { watch.report(done, total); });
        });
    }

    std::string json() const { return analysis::simulated_json(variants_); }
    std::string runs_csv() const { return analysis::simulated_csv(variants_); }
    std::string steps_csv() const { return analysis::steps_csv(variants_); }
    Drawn save(const fs::path& folder, bool force, const std::vector<std::string>& only) const {
        analysis::OutputFolder out(folder, force);
        return drawn(analysis::write_simulated(out, document_, variants_, figures_named(only)));
    }

private:
    analysis::StepDocument document_;
    std::vector<analysis::SimulatedVariant> variants_;
};

// ---- schedule and search -----------------------------------------------------------------------

// The keys are members of ClusterRequest; python/ukemi/clusters.py has them.
analysis::ClusterRequest cluster_request(const py::dict& asked) {
    analysis::ClusterRequest request;
    take(asked, "scenario", request.scenario);
    take(asked, "schedulers", request.schedulers);
    take(asked, "settings", request.variation.settings);
    take(asked, "varied", request.variation.varied);
    take(asked, "seeds", request.seeds);
    take(asked, "baseline", request.baseline);
    take(asked, "full", request.full);
    return request;
}

class MadeSchedules {
public:
    MadeSchedules(const py::dict& asked, const py::object& progress) {
        const analysis::ClusterRequest request = cluster_request(asked);
        watched(progress, [&](Watch& watch) {
            document_ = analysis::cluster_document(request, "schedule");
            scenarios_ = analysis::schedules_of(request, document_);
            runs_ = analysis::run_schedules(scenarios_, [&](std::size_t done, std::size_t total) {
                watch.report(done, total);
            });
        });
    }

    const std::string& baseline() const { return document_.baseline; }
    std::string json(const std::string& baseline) const {
        return analysis::schedules_json(scenarios_.front(), runs_, baseline);
    }
    std::string table() const {
        return analysis::schedules_table(scenarios_.front(), runs_, baseline());
    }
    std::string runs_csv() const { return analysis::schedules_csv(runs_); }
    std::string jobs_csv() const { return analysis::scheduled_jobs_csv(runs_); }
    Drawn save(const fs::path& folder, bool force, const std::vector<std::string>& only) const {
        analysis::OutputFolder out(folder, force);
        return drawn(analysis::write_schedules(out, document_, scenarios_.front(), runs_,
                                               figures_named(only)));
    }

private:
    analysis::StepDocument document_;
    std::vector<scenarios::ScheduleScenario> scenarios_;
    std::vector<analysis::ScheduledRun> runs_;
};

class MadeSearches {
public:
    MadeSearches(const py::dict& asked, const py::object& progress) {
        const analysis::ClusterRequest request = cluster_request(asked);
        watched(progress, [&](Watch& watch) {
            document_ = analysis::cluster_document(request, "search");
            scenarios_ = analysis::searches_of(request, document_);
            runs_ = analysis::run_searches(
                scenarios_, document_.seeds, document_.full,
                [&](std::size_t done, std::size_t total) { watch.report(done, total); });
        });
    }

    const std::string& baseline() const { return document_.baseline; }
    std::string json(const std::string& baseline) const {
        return analysis::searches_json(scenarios_.front(), runs_, baseline);
    }
    std::string table() const {
        return analysis::searches_table(scenarios_.front(), runs_, baseline());
    }
    std::string runs_csv() const { return analysis::searches_csv(runs_); }
    std::string trials_csv() const { return analysis::searched_trials_csv(runs_); }
    Drawn save(const fs::path& folder, bool force, const std::vector<std::string>& only) const {
        analysis::OutputFolder out(folder, force);
        return drawn(
            analysis::write_searches(out, document_, scenarios_, runs_, figures_named(only)));
    }

private:
    analysis::StepDocument document_;
    std::vector<scenarios::SearchScenario> scenarios_;
    std::vector<analysis::SearchedRun> runs_;
};

// ---- sweep and tune ----------------------------------------------------------------------------

py::dict sweep(const py::dict& asked, const py::object& progress) {
    analysis::SweepRequest request;
    read_request(asked, request);
    take(asked, "schedulers", request.schedulers);
    take(asked, "full", request.full);
    analysis::SweepSetup setup;
    take(asked, "database", setup.database);
    take(asked, "resume", setup.resume);
    analysis::SweepEnd end;
    watched(progress, [&](Watch& watch) {
        analysis::RankGroup ranks;
        const std::unique_ptr<analysis::RunMaker> maker = analysis::run_maker(request);
        setup.progress = [&](std::size_t done, std::size_t total) {
            if (!watch.is_stopped()) watch.report(done, total);
        };
        setup.stopped = [&] { return watch.is_stopped(); };
        end = analysis::sweep_runs(*maker, setup, ranks);
        if (end.failure) std::rethrow_exception(end.failure);
    });
    py::dict result;
    result["made"] = end.made;
    result["there"] = end.there;
    result["wall_s"] = end.wall_s;
    return result;
}

std::pair<std::string, std::string> tune(const py::dict& asked, const py::object& progress) {
    analysis::TuningRequest request;
    read_request(asked, request);
    take(asked, "over", request.over);
    take(asked, "held_out", request.held_out);
    take(asked, "tries", request.tries);
    take(asked, "goal", request.goal);
    analysis::Tuning tuning;
    watched(progress, [&](Watch& watch) {
        analysis::PreparedRuns runs = analysis::prepare_runs(request, true);
        runs.setup.progress = [&](std::size_t done, std::size_t total) {
            watch.report(done, total);
        };
        tuning = analysis::run_tuning(request, runs);
    });
    return {analysis::tuning_json(tuning), analysis::tuning_table(tuning)};
}

// ---- files that others wrote -------------------------------------------------------------------

std::string report(const std::vector<fs::path>& results) {
    std::vector<analysis::ReportPart> parts;
    for (const fs::path& one : results) {
        parts.push_back(fs::is_regular_file(one)
                            ? analysis::part_of_database(
                                  one, {{}, {}, {}, analysis::StoredRuns(one).build_called(""), {}})
                            : analysis::part_of_results(one));
    }
    return analysis::report_page(parts);
}

// What runs in a database say: JSON, with its warnings.
std::string query(const fs::path& database, const std::vector<std::string>& by,
                  const std::vector<std::string>& metrics, const std::string& baseline,
                  const std::vector<std::string>& where, const std::string& build) {
    analysis::StoredRuns runs(database);
    std::vector<analysis::RunFilter> filters;
    for (const std::string& text : where) filters.push_back(runs.filter(text));
    const analysis::GroupedRuns groups =
        runs.grouped(runs.grouping(by, metrics, baseline), runs.build_called(build), filters);
    return analysis::grouped_json(groups, runs.doubts(groups, !filters.empty()));
}

py::dict replay_log(const std::string& text, const std::string& name) {
    records::LogReplay replay;
    watched(py::none(), [&](Watch&) { replay = records::replay_decisions(text, name); });
    py::dict result;
    result["questions"] = replay.questions;
    result["decisions"] = replay.decisions;
    result["answered_otherwise"] = replay.difference_count;
    result["differences"] = replay.differences;
    return result;
}

analysis::RecordsRequest records_of(const py::dict& asked) {
    analysis::RecordsRequest request;
    take(asked, "files", request.files);
    take(asked, "zone", request.zone);
    take(asked, "instance_type", request.instance_type);
    take(asked, "gap", request.gap);
    take(asked, "join", request.join);
    take(asked, "zones", request.zones);
    if (request.files.empty()) throw py::value_error("expected traces");
    return request;
}

std::string describe(const py::dict& asked) {
    const analysis::RecordsRequest request = records_of(asked);
    std::vector<analysis::DescribedSeries> rows;
    watched(py::none(), [&](Watch&) {
        for (analysis::NamedRecord& one : analysis::read_records(request)) {
            for (auto& series : one.trace.series) rows.push_back({one.name, std::move(series)});
        }
    });
    return analysis::series_json(rows);
}

// The market as a file of scenarios has it, what could not be fitted, and how well the rest is.
py::tuple fit(const py::dict& asked) {
    analysis::FitRequest request;
    request.records = records_of(asked);
    take(asked, "name", request.name);
    take(asked, "source", request.source);
    take(asked, "on_demand", request.on_demand);
    take(asked, "stretches", request.stretches);
    analysis::RecordedFit fitted;
    watched(py::none(), [&](Watch&) { fitted = analysis::fit_records(request); });
    return py::make_tuple(traces::to_json(fitted.fit.parameters), fitted.fit.notes,
                          fitted.comparison);
}

std::vector<std::string> figure_names() {
    std::vector<std::string> names;
    for (const plots::Figure& figure : plots::all_figures()) names.emplace_back(figure.name);
    return names;
}

}  // namespace

// Others of Python's threads go on meanwhile.
using unlocked = py::call_guard<py::gil_scoped_release>;

void bind_experiments(py::module_& module) {
    py::class_<MadeRuns>(module, "MadeRuns")
        .def(py::init<const py::dict&, bool, const py::object&>())
        .def_property_readonly("baseline", &MadeRuns::baseline)
        .def_property_readonly("warnings", &MadeRuns::warnings)
        .def("called", &MadeRuns::called, unlocked())
        .def("results_json", &MadeRuns::results_json, unlocked())
        .def("comparison_json", &MadeRuns::comparison_json, unlocked())
        .def("own_json", &MadeRuns::own_json)
        .def("runs_csv", &MadeRuns::runs_csv, unlocked())
        .def("table", &MadeRuns::table, unlocked())
        .def("decisions", &MadeRuns::decisions, unlocked())
        .def("events", &MadeRuns::events, unlocked())
        .def("save_results", &MadeRuns::save_results, unlocked())
        .def("save_comparison", &MadeRuns::save_comparison, unlocked());
    py::class_<MadeSteps>(module, "MadeSteps")
        .def(py::init<const fs::path&, const std::vector<std::string>&,
                      const std::vector<std::string>&, const py::object&>())
        .def("runs_csv", &MadeSteps::runs_csv, unlocked())
        .def("json", &MadeSteps::json, unlocked())
        .def("steps_csv", &MadeSteps::steps_csv, unlocked())
        .def("save", &MadeSteps::save, unlocked());
    py::class_<MadeSchedules>(module, "MadeSchedules")
        .def(py::init<const py::dict&, const py::object&>())
        .def_property_readonly("baseline", &MadeSchedules::baseline)
        .def("json", &MadeSchedules::json, unlocked())
        .def("runs_csv", &MadeSchedules::runs_csv, unlocked())
        .def("table", &MadeSchedules::table, unlocked())
        .def("jobs_csv", &MadeSchedules::jobs_csv, unlocked())
        .def("save", &MadeSchedules::save, unlocked());
    py::class_<MadeSearches>(module, "MadeSearches")
        .def(py::init<const py::dict&, const py::object&>())
        .def_property_readonly("baseline", &MadeSearches::baseline)
        .def("json", &MadeSearches::json, unlocked())
        .def("runs_csv", &MadeSearches::runs_csv, unlocked())
        .def("table", &MadeSearches::table, unlocked())
        .def("trials_csv", &MadeSearches::trials_csv, unlocked())
        .def("save", &MadeSearches::save, unlocked());
    module.def("sweep", &sweep);
    module.def("tune", &tune);
    module.def("describe", &describe);
    module.def("fit", &fit);
    module.def("report", &report, unlocked());
    module.def("query", &query, unlocked());
    module.def("replay_log", &replay_log);
    module.def("figure_names", &figure_names);
    module.def("scenario_file", [](const std::string& given, const fs::path& around) {
        return analysis::scenario_file(given, around);
    });
    module.def("build_description", [] { return std::string(analysis::build_description()); });
}

}  // namespace ukemi::python
