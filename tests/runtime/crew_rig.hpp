// crew_rig.hpp — a Crew with a small job, whose events are kept and checked as they come.
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/crew.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {

using namespace std::chrono_literals;

// Sanitizers make everything slower; a sanitized heart beats as regularly, but not as soon.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int patience = 4;
#else
inline constexpr int patience = 1;
#endif

inline kernels::TrainingSpec small_job(std::uint64_t seed = 7) {
    kernels::TrainingSpec spec;
    spec.data.kind = "synthetic";
    spec.data.samples = 512;
    spec.data.features = 12;
    spec.data.classes = 4;
    spec.data.seed = seed;
    spec.model.kind = "mlp";
    spec.model.hidden = {16};
    spec.optimiser.momentum = 0.9;
    spec.step.bucket_bytes = 256;
    spec.step.seed = seed;
    spec.seed = seed;
    return spec;
}

inline runtime::CrewDeadlines short_deadlines() {
    runtime::CrewDeadlines deadlines;
    deadlines.spawn = 10'000ms * patience;
    deadlines.heartbeat = 1'000ms * patience;
    deadlines.collective = 2'000ms * patience;
    deadlines.transition = 4'000ms * patience;
    deadlines.checkpoint = 4'000ms * patience;
    deadlines.farewell = 1'000ms * patience;
    return deadlines;
}

inline policies::Plan plan_of(std::uint32_t version, std::int64_t batch = 4) {
    policies::Plan plan;
    plan.version = PlanVersion{version};
    plan.workers_max = 8;
    plan.batch_per_learner = batch;
    plan.learning_rate = 0.05;
    return plan;
}

inline std::vector<InstanceId> ids(std::initializer_list<std::uint32_t> numbers) {
    std::vector<InstanceId> list;
    for (const std::uint32_t number : numbers) list.push_back(InstanceId{number});
    return list;
}

class CrewRig {
public:
    explicit CrewRig(kernels::TrainingSpec spec = small_job(),
                     const runtime::CrewDeadlines& deadlines = short_deadlines(),
                     std::vector<std::string> worker_arguments = {},
                     const std::string& listen = "127.0.0.1")
        : crew(setup_of(spec, deadlines, folder_.path(), std::move(worker_arguments), listen)) {}

    static runtime::CrewSetup setup_of(const kernels::TrainingSpec& spec,
                                       const runtime::CrewDeadlines& deadlines,
                                       const std::filesystem::path& folder,
                                       std::vector<std::string> worker_arguments = {},
                                       const std::string& listen = "127.0.0.1") {
        runtime::CrewSetup setup;
        setup.listen = listen;
        setup.worker_arguments = std::move(worker_arguments);
        setup.training = spec;
        // Says where the worker is, if the tests do not run where they were built.
        const char* elsewhere = std::getenv("UKEMI_LIVE_WORKER");
        setup.worker_program = elsewhere != nullptr ? elsewhere : UKEMI_LIVE_WORKER;
        setup.folder = folder;
        setup.deadlines = deadlines;
        setup.allow_faults = true;
        return setup;
    }

    // Polls until an event of this kind comes; events before it are kept in `log`, too.
    template <class Event>
    std::optional<Event> await(std::chrono::milliseconds limit = 20'000ms) {
        const auto end = std::chrono::steady_clock::now() + limit * patience;
        while (true) {
            while (next_ < log.size()) {
                const runtime::CrewEvent& event = log[next_++];
                if (const auto* found = std::get_if<Event>(&event)) return *found;
            }
            if (std::chrono::steady_clock::now() >= end) return std::nullopt;
            look(50ms);
        }
    }
    // The next of these; nothing else of interest may come before it.
    template <class Event>
    Event expect(std::chrono::milliseconds limit = 20'000ms) {
        auto found = await<Event>(limit);
        INFO(story());
        REQUIRE(found.has_value());
        return *found;
    }
    void look(std::chrono::milliseconds time) {
        for (runtime::CrewEvent& event : crew.poll(time)) {
            note(event);
            log.push_back(std::move(event));
        }
    }

    void spawn(const std::vector<InstanceId>& workers) {
        for (const InstanceId id : workers) crew.spawn(id);
        for (std::size_t i = 0; i < workers.size(); ++i) expect<runtime::WorkerReady>();
    }
    runtime::GroupEntered enter(const std::vector<InstanceId>& members, const policies::Plan& plan,
                                const std::filesystem::path& checkpoint = {}) {
        crew.begin_transition(members, plan, checkpoint);
        return expect<runtime::GroupEntered>();
    }
    void train_to(std::int64_t step) {
        crew.run_until(step);
        CHECK(expect<runtime::GroupHeld>().step == step);
    }

    std::vector<runtime::StepDone> steps() const {
        std::vector<runtime::StepDone> done;
        for (const runtime::CrewEvent& event : log) {
            if (const auto* step = std::get_if<runtime::StepDone>(&event)) done.push_back(*step);
        }
        return done;
    }
    std::string story() const;  // the log's end, for people
    const std::filesystem::path& folder() const { return folder_.path(); }

    std::vector<runtime::CrewEvent> log;

private:
    ScratchFolder folder_;

public:
    runtime::Crew crew;

private:
    // No committed step is lost, repeated or skipped, and neither is a sample.
    void note(const runtime::CrewEvent& event) {
        if (const auto* done = std::get_if<runtime::StepDone>(&event)) {
            if (step_ >= 0) CHECK(done->step == step_);
            if (step_ >= 0) CHECK(done->position - done->report.samples == position_);
            step_ = done->step + 1;
            position_ = done->position;
        } else if (const auto* entered = std::get_if<runtime::GroupEntered>(&event)) {
            if (!may_go_back && step_ >= 0) CHECK(entered->step == step_);
            if (!may_go_back && step_ >= 0) CHECK(entered->position == position_);
            step_ = entered->step;
            position_ = entered->position;
            may_go_back = false;
        }
    }
    std::size_t next_ = 0;
    std::int64_t step_ = -1;
    std::int64_t position_ = 0;

public:
    bool may_go_back = false;  // the next group starts from a checkpoint or from nothing
};

inline std::string CrewRig::story() const {
    const auto line = [](const runtime::CrewEvent& event) {
        if (const auto* e = std::get_if<runtime::WorkerReady>(&event)) {
            return fmt::format("ready {}", index_of(e->worker));
        }
        if (const auto* e = std::get_if<runtime::WorkerDied>(&event)) {
            return fmt::format("died {}: {} (expected {}, member {})", index_of(e->worker), e->why,
                               e->expected, e->was_member);
        }
        if (const auto* e = std::get_if<runtime::StepDone>(&event)) {
            return fmt::format("step {} to {}", e->step, e->position);
        }
        if (const auto* e = std::get_if<runtime::GroupHeld>(&event)) {
            return fmt::format("held before {}", e->step);
        }
        if (const auto* e = std::get_if<runtime::GroupEntered>(&event)) {
            return fmt::format("entered epoch {} plan {} step {} digest {:016x}", e->epoch,
                               index_of(e->version), e->step, e->digest);
        }
        if (const auto* e = std::get_if<runtime::TransitionFailed>(&event)) {
            return fmt::format("transition failed: {}", e->why);
        }
        if (const auto* e = std::get_if<runtime::CheckpointSaved>(&event)) {
            return fmt::format("saved before {}", e->step);
        }
        return fmt::format("not saved: {}", std::get<runtime::CheckpointFailed>(event).why);
    };
    std::string text;
    const std::size_t begin = log.size() > 40 ? log.size() - 40 : 0;
    for (std::size_t i = begin; i < log.size(); ++i) text += line(log[i]) + "\n";
    return text;
}

}  // namespace ukemi
