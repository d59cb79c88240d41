// crew_torn_test.cpp — a step that some members have finished and others have not, undone.
//
// One of three members does not get the last message of a step, which the others finish. When both
// are at the next one, one of them is killed: of the survivors one is a step ahead, whatever the
// machine's timing. What both go on from, and come to, must be what an undisturbed group comes to.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>

#include "tests/runtime/crew_rig.hpp"

namespace ukemi {

namespace {

struct Roles {
    std::uint32_t ahead;
    std::uint32_t torn;
    std::uint32_t dead;
};

struct Way {
    const char* name;
    policies::Plan plan;
    bool error_feedback = false;
};

Way way_named(std::string_view name) {
    Way way{name.data(), plan_of(1), false};
    if (name == "averaging")
        way.plan.synchronisation = policies::Synchronisation::synchronous_averaging;
    if (name == "codec" || name == "error feedback") {
        way.plan.codec = policies::Codec::top_k;
        way.plan.codec_level = 0.1;
    }
    way.error_feedback = name == "error feedback";
    return way;
}

kernels::TrainingSpec job_of(const Way& way) {
    kernels::TrainingSpec spec = small_job();
    spec.step.error_feedback = way.error_feedback;
    return spec;
}

policies::Plan versioned(policies::Plan plan, std::uint32_t version) {
    plan.version = PlanVersion{version};
    return plan;
}

// Long: nobody is to be blamed for a step that failed before the dead one has died.
runtime::CrewDeadlines long_deadlines() {
    runtime::CrewDeadlines deadlines = short_deadlines();
    deadlines.heartbeat = deadlines.collective = deadlines.transition = 20'000ms * patience;
    return deadlines;
}

constexpr std::int64_t common = 8;  // steps that all three have

// A group of three in which every gradient that is begun is counted in a file.
class TornRig {
public:
    explicit TornRig(const Way& way)
        : rig(job_of(way), long_deadlines(), {"posing", (counts_.path() / "count").string()}) {}

    // Leaves `ahead` before step 9 and `torn` before step 8.
    void tear(const Way& way, const Roles& roles) {
        rig.spawn(ids({0, 1, 2}));
        rig.enter(ids({0, 1, 2}), way.plan);
        rig.train_to(common);
        rig.crew.inject(InstanceId{roles.torn}, runtime::Fault::tear_step);
        rig.crew.run();
        // All have begun the torn step, and two of them the one after it.
        while (gradients() < 3 * (common + 1) + 2) rig.look(1ms);
        ::kill(rig.crew.process_of(InstanceId{roles.dead}), SIGKILL);
        CHECK(rig.expect<runtime::WorkerDied>().worker == InstanceId{roles.dead});
        CHECK(rig.steps().size() == common);  // the torn step is nobody's
    }

private:
    ScratchFolder counts_;

public:
    CrewRig rig;

private:
    std::int64_t gradients() const {
        std::ifstream file(counts_.path() / "count");
        return std::count(std::istreambuf_iterator<char>(file), {}, 'g');
    }
};

// What a group comes to in which nothing was torn: the same members go on from the same step.
std::uint64_t digest_undisturbed(const Way& way, const std::vector<InstanceId>& rest) {
    CrewRig calm(job_of(way), long_deadlines());
    calm.spawn(ids({0, 1, 2}));
    calm.enter(ids({0, 1, 2}), way.plan);
    calm.train_to(common);
    calm.enter(rest, versioned(way.plan, 2));
    calm.train_to(common + 4);
    return calm.enter(rest, versioned(way.plan, 3)).digest;
}

}  // namespace

TEST_CASE("crew: of a torn step nothing is left: who had finished it undoes it", "[live]") {
    const Roles roles = GENERATE(Roles{0, 1, 2}, Roles{1, 0, 2}, Roles{2, 0, 1}, Roles{0, 2, 1});
    CAPTURE(roles.ahead, roles.torn, roles.dead);
    const Way way = way_named("plain");
    TornRig torn(way);
    torn.tear(way, roles);
    CrewRig& rig = torn.rig;
    const auto rest = ids({std::min(roles.ahead, roles.torn), std::max(roles.ahead, roles.torn)});
    const runtime::GroupEntered entered = rig.enter(rest, versioned(way.plan, 2));
    CHECK(entered.step == common);
    CHECK(entered.position == common * 3 * 4);
    rig.train_to(common + 4);
    CHECK(rig.enter(rest, versioned(way.plan, 3)).digest == digest_undisturbed(way, rest));
}

TEST_CASE("crew: an undone step takes what a codec had kept with it", "[live]") {
    const Way way = way_named(GENERATE("averaging", "codec", "error feedback"));
    CAPTURE(way.name);
    TornRig torn(way);
    torn.tear(way, {0, 1, 2});
    CrewRig& rig = torn.rig;
    CHECK(rig.enter(ids({0, 1}), versioned(way.plan, 2)).step == common);
    rig.train_to(common + 4);
    CHECK(rig.enter(ids({0, 1}), versioned(way.plan, 3)).digest ==
          digest_undisturbed(way, ids({0, 1})));
}

TEST_CASE("crew: a torn step is undone by a member that goes on alone, too", "[live]") {
    const Way way = way_named("plain");
    TornRig torn(way);
    torn.tear(way, {1, 0, 2});
    CrewRig& rig = torn.rig;
    // The other survivor is not asked, and may still be needed: it stands before the torn step.
    const runtime::GroupEntered entered = rig.enter(ids({1}), versioned(way.plan, 2));
    CHECK(entered.step == common);
    CHECK(entered.position == common * 3 * 4);
    const runtime::GroupEntered both = rig.enter(ids({0, 1}), versioned(way.plan, 3));
    CHECK(both.step == common);
    CHECK(both.digest == entered.digest);
    rig.train_to(common + 2);
}

}  // namespace ukemi
