// loops.cpp — the Controller for worlds and training loops that are written in Python.
//
// A call out of turn breaks an invariant in C++, which ends the process; here it is refused before.
#include <fmt/format.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/input_error.hpp"
#include "policies/training_loop.hpp"
#include "python/convert.hpp"
#include "python/shown.hpp"
#include "records/advisor.hpp"
#include "records/plan_json.hpp"
#include "scenarios/experiment/experiment.hpp"

namespace ukemi::python {

namespace {

// ---- a world that asks -------------------------------------------------------------------------

std::unique_ptr<records::Advisor> make_advisor(const std::filesystem::path& file,
                                               const std::vector<std::string>& settings,
                                               const std::string& policies, py::object seed) {
    std::vector<ConfigOverride> overrides;
    for (const std::string& one : settings) overrides.push_back(parse_override(one));
    const auto scenario = scenarios::read_scenario(file, overrides);
    const auto lists = policies.empty() ? std::vector{scenarios::first_policies(scenario)}
                                        : scenarios::parse_policies(policies, scenario, "policies");
    if (lists.size() != 1) {
        throw InputError("policies", "", fmt::format("expected one list, found {}", lists.size()));
    }
    const auto header = scenarios::advice_header(
        scenario, lists.front(), seed.is_none() ? scenario.seed : seed.cast<std::uint64_t>());
    return std::make_unique<records::Advisor>(header, "world");
}

// ---- a training loop ---------------------------------------------------------------------------

// As logs are read: what no world can have seen is a ValueError.
policies::Observation checked(const policies::Observation& seen) {
    return records::observation_from(records::to_json(seen));
}

class Loop {
public:
    using Answer = std::optional<Shown<policies::Plan>>;

    Loop(const std::string& policies, const Shown<policies::Plan>& plan,
         const std::string& capabilities, std::int64_t samples_total,
         std::int64_t samples_per_epoch, std::optional<std::int64_t> deadline_ns,
         std::uint64_t seed) {
        policies::TrainingLoopSetup setup;
        setup.policies = policies;
        setup.plan = plan.get();
        setup.capabilities = records::capabilities_from(nlohmann::json::parse(capabilities));
        setup.samples_total = samples_total;
        setup.samples_per_epoch = samples_per_epoch;
        setup.seed = seed;
        if (deadline_ns && *deadline_ns < 1) throw py::value_error("deadline_ns: expected above 0");
        if (deadline_ns) setup.deadline = Instant::at(nanoseconds(*deadline_ns));
        workers_most_ = setup.capabilities.instances_max;
        if (setup.capabilities.workers_min > workers_most_) {
            throw py::value_error("workers_min: expected at most instances_max");
        }
        log_ = std::make_unique<records::DecisionLog>(records::log_header_of(setup, "a loop"));
        setup.log = log_.get();
        loop_ = std::make_unique<policies::TrainingLoop>(std::move(setup));
    }

    Shown<policies::Plan> plan() const { return Shown(loop_->plan()); }
    std::int64_t steps_done() const { return loop_->steps_done(); }
    std::int64_t samples_done() const { return loop_->samples_done(); }
    bool finished() const { return loop_->finished(); }
    bool awaiting_commit() const { return loop_->awaiting_commit(); }
    bool checkpoint_due() const { return loop_->checkpoint_due(); }
    void saved() { loop_->saved(); }
    const std::string& decisions() const { return log_->text(); }

    void see(const py::kwargs& fields) {
        constexpr std::string_view of_the_loop[] = {"now_ns",      "samples_done", "samples_total",
                                                    "steps_done",  "epoch",        "samples_safe",
                                                    "workers_min", "deadline_ns"};
        policies::Observation seen = loop_->seen();
        const auto& table = records::json_table<policies::Observation>;
        set_by_name("Observation", table, fields, [&](const auto& line, py::handle value) {
            if (std::ranges::find(of_the_loop, line.key) != std::end(of_the_loop)) {
                throw py::value_error(fmt::format("{}: the loop keeps it itself", line.key));
            }
            from_python(line.key, value, seen.*line.member);
        });
        loop_->seen() = checked(seen);
    }

    Answer start(std::int64_t now_ns) {
        if (started_) throw std::runtime_error("start: was called before");
        const Instant now = at(now_ns);
        started_ = true;
        return asked([&] { return loop_->start(now); });
    }
    Answer step(std::int64_t now_ns, std::int64_t duration_ns, std::int32_t workers,
                std::int64_t samples, double loss, const py::kwargs& measured) {
        expect_turn("step");
        if (workers < 1 || workers > workers_most_) {
            throw py::value_error(fmt::format("workers: expected 1 to {}", workers_most_));
        }
        if (samples < 0 || samples > samples_most) {
            throw py::value_error(fmt::format("samples: expected 0 to {}", samples_most));
        }
        if (duration_ns < 0 || duration_ns > records::json_time_max.raw()) {
            throw py::value_error("duration_ns: expected 0 to 36,600 days");
        }
        policies::FinishedStep step{
            at(now_ns), nanoseconds(duration_ns), workers, samples, loss, {}, {}, {}};
        for (const auto& [name, value] : measured) {
            const std::string key = py::str(name);
            if (key == "gradient") {
                from_python("gradient", value, step.gradient);
            } else if (key == "exchange") {
                from_python("exchange", value, step.exchange);
            } else if (key == "worker_views") {
                from_python("worker_views", value, step.worker_views);
            } else {
                throw py::type_error(fmt::format("step has no argument {}", key));
            }
        }
        policies::Observation seen = loop_->seen();
        seen.now = step.now;
        seen.loss = loss;
        seen.gradient = step.gradient;
        seen.exchange = step.exchange;
        seen.worker_views = step.worker_views;
        (void)checked(seen);
        return asked([&] { return loop_->step(step); });
    }
    Answer event(const std::string& kind, std::int64_t now_ns) {
        expect_started("event");
        const auto names = policies::event_kind_names();
        const auto found = std::ranges::find(names, kind);
        if (found == names.end() || found == names.begin()) {
            throw py::value_error(fmt::format("kind: expected one of {}, found {}",
                                              fmt::join(names.subspan(1), ", "), kind));
        }
        const Instant now = at(now_ns);
        return asked([&] {
            return loop_->event(static_cast<policies::EventKind>(found - names.begin()), now);
        });
    }
    Answer settled(bool is_committed, const std::string& why, std::int64_t now_ns) {
        if (!awaiting_commit()) throw std::runtime_error("there is no Plan to be settled");
        const Instant now = at(now_ns);
        return asked(
            [&] { return is_committed ? loop_->committed(now) : loop_->discarded(why, now); });
    }
    Answer rolled_back(std::int64_t now_ns) {
        expect_turn("rolled_back");
        const Instant now = at(now_ns);
        return asked([&] { return loop_->rolled_back(now); });
    }
    void stop(std::int64_t now_ns) {
        expect_turn("stop");
        loop_->stop(at(now_ns));
    }

private:
    static constexpr std::int64_t samples_most = 1'000'000'000'000;

    // The clock of a run never goes back.
    Instant at(std::int64_t now_ns) const {
        const Instant now = Instant::at(nanoseconds(now_ns));
        if (now >= loop_->seen().now && now.since_start() <= records::json_time_max) return now;
        throw py::value_error(
            fmt::format("now_ns: expected {} or later, found {}", loop_->seen().now.raw(), now_ns));
    }
    void expect_started(const char* call) const {
        if (failed_) throw std::runtime_error("a policy of this loop has failed");
        if (!started_) throw std::runtime_error(fmt::format("{}: expected start() before", call));
    }
    void expect_turn(const char* call) const {
        expect_started(call);
        if (!awaiting_commit()) return;
        throw std::runtime_error(
            fmt::format("{}: expected committed() or discarded() before", call));
    }
    template <class Ask>
    Answer asked(Ask ask) {
        failed_ = true;  // unless nothing is thrown
        std::optional<policies::Plan> plan = ask();
        failed_ = false;
        if (!plan) return std::nullopt;
        return Shown(std::move(*plan));
    }

    std::int32_t workers_most_ = 1;
    std::unique_ptr<records::DecisionLog> log_;  // outlives the loop
    std::unique_ptr<policies::TrainingLoop> loop_;
    bool started_ = false;
    bool failed_ = false;
};

}  // namespace

void bind_loops(py::module_& module) {
    py::class_<records::Advisor>(module, "Advisor")
        .def(py::init(&make_advisor))
        .def_property_readonly("header", &records::Advisor::header)
        .def("answer", &records::Advisor::answer);
    py::class_<Loop>(module, "Loop")
        .def(py::init<const std::string&, const Shown<policies::Plan>&, const std::string&,
                      std::int64_t, std::int64_t, std::optional<std::int64_t>, std::uint64_t>())
        .def_property_readonly("plan", &Loop::plan)
        .def_property_readonly("steps_done", &Loop::steps_done)
        .def_property_readonly("samples_done", &Loop::samples_done)
        .def_property_readonly("finished", &Loop::finished)
        .def_property_readonly("awaiting_commit", &Loop::awaiting_commit)
        .def_property_readonly("checkpoint_due", &Loop::checkpoint_due)
        .def_property_readonly("decisions", &Loop::decisions)
        .def("saved", &Loop::saved)
        .def("see", &Loop::see)
        .def("start", &Loop::start, py::arg("now_ns"))
        .def("step", &Loop::step, py::arg("now_ns"), py::arg("duration_ns"), py::arg("workers") = 1,
             py::arg("samples") = 0, py::arg("loss") = 0.0)
        .def("event", &Loop::event, py::arg("kind"), py::arg("now_ns"))
        .def("settled", &Loop::settled, py::arg("committed"), py::arg("why"), py::arg("now_ns"))
        .def("rolled_back", &Loop::rolled_back, py::arg("now_ns"))
        .def("stop", &Loop::stop, py::arg("now_ns"));
}

}  // namespace ukemi::python
