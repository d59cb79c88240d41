// deadline_view_test.cpp — progress against the straight line, and the last line of defence.
#include "policies/market/deadline_view.hpp"

#include <catch2/catch.hpp>

#include "tests/policies/situation.hpp"
#include "tests/support/profile_predictor.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::policies;

namespace {

DeadlineView view_of(Situation& job) {
    const auto predictor = make_profile_predictor(job.profile);
    return deadline_view({job.seen, job.plan, *predictor, nullptr, job.random});
}

}  // namespace

TEST_CASE("deadline view: its terms are those of the paper", "[deadline_view]") {
    Situation job;
    job.at(hours(10), hours(8)).spot(1);
    const DeadlineView view = view_of(job);
    CHECK(view.elapsed == hours(10));
    CHECK(view.limit == hours(52));
    CHECK(view.remaining == hours(42));
    CHECK(view.work_total == hours(48));
    CHECK(view.work_left == hours(40));
    CHECK(view.work_at_risk == hours(40));
    CHECK(view.done() == hours(8));
    CHECK(view.overhead == minutes(6));
    CHECK(view.spot_available);
    CHECK(view.held == Market::none);
    CHECK_FALSE(view.in_transition);
}

TEST_CASE("deadline view: a run that goes on is on the line of the whole run", "[deadline_view]") {
    Situation job;
    job.at(hours(10), hours(8));
    const DeadlineView whole = view_of(job);
    // Its second piece began after seven hours.
    job.seen.earlier = hours(7);
    job.seen.now = job.seen.now - hours(7);
    job.seen.deadline = job.seen.deadline - hours(7);
    const DeadlineView piece = view_of(job);
    CHECK(piece.elapsed == whole.elapsed);
    CHECK(piece.limit == whole.limit);
    CHECK(piece.remaining == whole.remaining);
    CHECK(piece.meets_line_in(Duration{}) == whole.meets_line_in(Duration{}));
    job.seen.deadline = Instant::never();
    CHECK(view_of(job).limit == Instant::never().since_start());
}

TEST_CASE("deadline view: a job that can lose work counts from its checkpoint, and pays for it",
          "[deadline_view]") {
    Situation job;
    job.profile.lossless = false;
    job.profile.provisioning = minutes(2);
    job.profile.checkpoint = minutes(3);
    job.profile.restore = minutes(1);
    job.at(hours(10), hours(8));
    job.seen.samples_safe = hours(7).raw();
    const DeadlineView view = view_of(job);
    CHECK(view.work_left == hours(40));
    CHECK(view.work_at_risk == hours(41));
    // provisioning 2 + restart 6 + checkpoint 3 + restore 1
    CHECK(view.overhead == minutes(12));
}

TEST_CASE("deadline view: a loss tears a step, and a clock may see it a tick later",
          "[deadline_view]") {
    // 48 h in steps of 4 min: 720 samples.
    Situation job;
    job.profile.throughput = {{1, {1, minutes(4)}}};
    job.seen.samples_total = 720;
    job.at(hours(1));
    CHECK(view_of(job).work_total == hours(48));
    CHECK(view_of(job).overhead == minutes(6) + minutes(4));
    job.seen.decision_interval = minutes(10);
    CHECK(view_of(job).overhead == minutes(6) + minutes(4) + minutes(10));
    // The net insists a step sooner than for work without steps.
    job.seen.decision_interval = {};
    job.at(hours(4) - minutes(10) - nanoseconds(1));
    CHECK_FALSE(safety_net(SafetyNet::strong, view_of(job)).has_value());
    job.at(hours(4) - minutes(10));
    CHECK(safety_net(SafetyNet::strong, view_of(job)) == Market::on_demand);
    // Machines are asked for at the end of a step, and begin at that of another one.
    job.profile.lossless = false;
    job.profile.checkpoint = minutes(3);
    CHECK(view_of(job).overhead == minutes(6) + 2 * minutes(4) + minutes(3));
}

TEST_CASE("deadline view: what a loss leaves of a group may be in the midst of a longer step",
          "[deadline_view]") {
    // Alone a step takes 12 min, in twos 4 min.
    Situation job;
    job.plan.workers_max = 2;
    job.profile.throughput = {{1, {1, minutes(12)}}, {2, {1, minutes(4)}}};
    job.seen.samples_total = 1440;  // two a step
    job.at(hours(1));
    CHECK(view_of(job).work_total == hours(48));
    CHECK(view_of(job).overhead == minutes(6) + minutes(12));
    job.seen.workers_min = 2;  // one alone does not train
    CHECK(view_of(job).overhead == minutes(6) + minutes(4));
}

TEST_CASE("deadline view: survivors that take longer to form a group than a restart are counted",
          "[deadline_view]") {
    Situation job;
    job.profile.resize = minutes(9);
    job.at(hours(10), hours(8));
    CHECK(view_of(job).overhead == minutes(9));
    job.profile.resize = minutes(1);
    CHECK(view_of(job).overhead == minutes(6));
}

TEST_CASE("deadline view: ahead of the line by as much as is asked for", "[deadline_view]") {
    // ep(13 h) = 12 h exactly.
    Situation job;
    job.at(hours(13), hours(12) + minutes(5));
    CHECK(view_of(job).ahead_by(minutes(5)));
    CHECK_FALSE(view_of(job).ahead_by(minutes(5) + nanoseconds(1)));
}

TEST_CASE("deadline view: a gang holds what it has enough of", "[deadline_view]") {
    Situation job;
    job.seen.workers_min = 2;
    job.seen.spot_held = 1;
    job.seen.on_demand_held = 1;
    CHECK(view_of(job).held == Market::none);
    CHECK_FALSE(view_of(job).spot_available);
    job.seen.on_demand_held = 2;
    CHECK(view_of(job).held == Market::on_demand);
    job.seen.spot_held = 2;  // announced to be lost or not, they are still there
    CHECK(view_of(job).held == Market::spot);
    CHECK(view_of(job).spot_available);
}

TEST_CASE("deadline view: behind the line by a nanosecond is behind", "[deadline_view]") {
    // ep(13 h) = 13 · 48/52 = 12 h exactly.
    Situation job;
    job.at(hours(13), hours(12));
    CHECK_FALSE(view_of(job).behind(Duration{}));
    CHECK(view_of(job).level_or_behind(Duration{}));
    CHECK(view_of(job).behind(nanoseconds(1)));
    job.at(hours(13), hours(12) - nanoseconds(1));
    CHECK(view_of(job).behind(Duration{}));
    job.at(hours(13), hours(12) + nanoseconds(1));
    CHECK_FALSE(view_of(job).level_or_behind(Duration{}));
    // Looking an hour ahead from t = 12 h is the same line.
    job.at(hours(12), hours(12));
    CHECK_FALSE(view_of(job).behind(hours(1)));
    CHECK(view_of(job).level_or_behind(hours(1)));
}

TEST_CASE("safety net: insists from R(t) = C(t) + d on", "[safety_net]") {
    // 52 − t = 48 + 0.1: t = 3.9 h.
    const SafetyNet kind = GENERATE(SafetyNet::simple, SafetyNet::strong);
    Situation job;
    job.at(hours(3) + minutes(54) - nanoseconds(1));
    CHECK_FALSE(safety_net(kind, view_of(job)).has_value());
    job.at(hours(3) + minutes(54));
    CHECK(safety_net(kind, view_of(job)) == Market::on_demand);
}

TEST_CASE("safety net: keeps a running spot instance at the last moment", "[safety_net]") {
    const SafetyNet kind = GENERATE(SafetyNet::simple, SafetyNet::strong);
    Situation job;
    job.at(hours(3) + minutes(54)).spot(1).hold(Market::spot);
    CHECK(safety_net(kind, view_of(job)) == Market::spot);
    // But not with work that its loss would destroy.
    job.profile.lossless = false;
    job.at(hours(4) + minutes(54), hours(1));
    job.seen.samples_safe = 0;
    CHECK(safety_net(kind, view_of(job)) == Market::on_demand);
}

TEST_CASE("safety net: one that is still starting on spot is given up by the strong net alone",
          "[safety_net]") {
    Situation job;
    job.at(hours(3) + minutes(54)).spot(1).hold(Market::spot);
    job.starting();
    CHECK(safety_net(SafetyNet::simple, view_of(job)) == Market::spot);
    CHECK(safety_net(SafetyNet::strong, view_of(job)) == Market::on_demand);
}

TEST_CASE("safety net: once late, the simple net rides spot on and the strong one does not",
          "[safety_net]") {
    Situation job;
    job.at(hours(3) + minutes(54) + nanoseconds(1)).spot(1).hold(Market::spot);
    CHECK(safety_net(SafetyNet::simple, view_of(job)) == Market::spot);
    CHECK(safety_net(SafetyNet::strong, view_of(job)) == Market::on_demand);
}

TEST_CASE("safety net: where changing over is free the simple net still takes spot",
          "[safety_net]") {
    Situation job;
    job.profile.restart = {};
    job.at(hours(4)).spot(1);
    CHECK(safety_net(SafetyNet::simple, view_of(job)) == Market::spot);
    CHECK(safety_net(SafetyNet::strong, view_of(job)) == Market::on_demand);
}

TEST_CASE("safety net: also where changing over is free, work that can be lost is not left to spot",
          "[safety_net]") {
    // Four hours are done, three are saved: 45 h at risk, and 45 h left.
    Situation job;
    job.profile.lossless = false;
    job.profile.restart = {};
    job.at(hours(7), hours(4)).spot(1).hold(Market::spot);
    job.seen.samples_safe = hours(3).raw();
    CHECK(view_of(job).overhead == Duration{});
    CHECK(safety_net(SafetyNet::simple, view_of(job)) == Market::on_demand);
}

TEST_CASE("safety net: with a tick, times are rounded so that the next tick is not too late",
          "[safety_net]") {
    // Tick 600 s; needed: 172800 + 360 = 173160 s, up to 289 ticks = 173400 s. The deadline is half
    // a tick off, at 187500 s. Simple: 173400 ≥ 187500 − t from t = 14100 on. Strong: R(t) rounded
    // down, so that at t = 13800 s it is 173400 s.
    Situation job;
    job.seen.decision_interval = minutes(10);
    job.seen.deadline = Instant::at(whole_seconds(187'500));
    job.at(whole_seconds(13'200));
    CHECK_FALSE(safety_net(SafetyNet::simple, view_of(job)).has_value());
    CHECK_FALSE(safety_net(SafetyNet::strong, view_of(job)).has_value());
    job.at(whole_seconds(13'800));
    CHECK_FALSE(safety_net(SafetyNet::simple, view_of(job)).has_value());
    CHECK(safety_net(SafetyNet::strong, view_of(job)) == Market::on_demand);
    job.at(whole_seconds(14'400));
    CHECK(safety_net(SafetyNet::simple, view_of(job)) == Market::on_demand);
}

TEST_CASE("safety net: is due after the slack of an idle job, and not while slack is steady",
          "[safety_net]") {
    Situation job;
    job.at(hours(1));
    CHECK(safety_net_due(view_of(job)) == hours(2) + minutes(54));  // 51 − 48 − 0.1
    job.hold(Market::spot);
    CHECK_FALSE(safety_net_due(view_of(job)).has_value());  // trains as fast as time goes by
    job.starting();
    CHECK(safety_net_due(view_of(job)) == hours(2) + minutes(54));
    job.seen.transition_remaining = {};
    job.seen.decision_interval = minutes(10);
    job.hold(Market::none);
    CHECK_FALSE(safety_net_due(view_of(job)).has_value());  // the clock asks
    job.seen.decision_interval = {};
    job.at(hours(4));
    CHECK_FALSE(safety_net_due(view_of(job)).has_value());  // it insists already
}

TEST_CASE("safety net: a machine that is announced to be lost is not ridden to the end",
          "[safety_net]") {
    // 48 h of work and a changeover of 6 min are left, and so is that much time.
    Situation job;
    job.at(hours(4) - minutes(6)).spot(1).hold(Market::spot);
    CHECK(safety_net(SafetyNet::strong, view_of(job)) == Market::spot);
    job.seen.notices = {{InstanceId{0}, ZoneId{0}, Instant::at(hours(4) - minutes(4))}};
    CHECK(safety_net(SafetyNet::strong, view_of(job)) == Market::on_demand);
    CHECK(safety_net(SafetyNet::simple, view_of(job)) == Market::spot);
}

TEST_CASE("safety net: a group that is not complete is slower than its guess, and no refuge",
          "[safety_net]") {
    // Four machines do 48 h of work; three of them train, so that slack shrinks meanwhile.
    Situation job;
    job.plan.workers_max = 4;
    job.profile.throughput.push_back({4, {4, nanoseconds(1)}});
    job.seen.samples_total = 16 * hours(48).raw();  // 4 samples a step, 4 steps a nanosecond
    job.at(hours(1)).spot(4).hold(Market::spot);
    CHECK(view_of(job).work_total == hours(48));
    CHECK(view_of(job).full_speed);
    CHECK_FALSE(safety_net_due(view_of(job)).has_value());
    job.seen.workers = 3;
    CHECK_FALSE(view_of(job).full_speed);
    CHECK(safety_net_due(view_of(job)) == hours(2) + minutes(54));
    job.at(hours(3) + minutes(54));
    CHECK(safety_net(SafetyNet::simple, view_of(job)) == Market::spot);
    CHECK(safety_net(SafetyNet::strong, view_of(job)) == Market::on_demand);
}

TEST_CASE("safety net: unsaved work eats the slack of a running job", "[safety_net]") {
    Situation job;
    job.profile.lossless = false;
    job.at(hours(2), hours(2)).hold(Market::spot);
    job.seen.samples_safe = hours(1).raw();
    CHECK(safety_net_due(view_of(job)) == hours(2) + minutes(54));  // 50 − 47 − 0.1
    // Not on on-demand, which nobody takes away: however little there is, it stays as it is.
    job.hold(Market::on_demand);
    CHECK_FALSE(safety_net_due(view_of(job)).has_value());
}

TEST_CASE("safety net: what on-demand has not saved is safe until it has, also beside spot",
          "[safety_net]") {
    // Four hours are done and none is saved: 48 of 48 h at risk, 44 h left, 45 h to the deadline.
    Situation job;
    job.profile.lossless = false;
    job.profile.checkpoint = minutes(3);
    job.at(hours(7), hours(4));
    job.seen.samples_safe = 0;
    const auto predictor = make_profile_predictor(job.profile);
    const PolicyView view{job.seen, job.plan, *predictor, nullptr, job.random};
    DeadlineWatch watch;
    job.hold(Market::on_demand);
    job.seen.phase = JobPhase::running;
    CHECK(watch.look(view).work_at_risk == hours(44));
    // Spot is ready before the step ends, and while on-demand saves.
    job.seen.spot_held = 1;
    CHECK(watch.look(view).work_at_risk == hours(44));
    job.seen.phase = JobPhase::checkpointing;
    job.seen.workers = 0;
    DeadlineView now = watch.look(view);
    CHECK(now.held == Market::spot);
    CHECK(now.leaves_on_demand);
    CHECK(now.work_at_risk == hours(44));
    CHECK_FALSE(safety_net(SafetyNet::strong, now).has_value());
    // It is asked again before the slack is used up: the save takes its time.
    CHECK(safety_net_due(now) == hours(1) - minutes(6) - minutes(3));
    job.seen.now = job.seen.now + *safety_net_due(now);
    CHECK(safety_net(SafetyNet::strong, watch.look(view)) == Market::on_demand);
    // A save of on-demand alone needs no past; beside spot without one, spot may have the model.
    CHECK(view_of(job).work_at_risk == hours(48));
    CHECK_FALSE(view_of(job).leaves_on_demand);
    job.seen.spot_held = 0;
    CHECK(view_of(job).work_at_risk == hours(44));
}

TEST_CASE("safety net: what spot has not saved is at risk while on-demand comes", "[safety_net]") {
    Situation job;
    job.profile.lossless = false;
    job.at(hours(7), hours(4)).hold(Market::spot);
    job.seen.samples_safe = 0;
    const auto predictor = make_profile_predictor(job.profile);
    const PolicyView view{job.seen, job.plan, *predictor, nullptr, job.random};
    DeadlineWatch watch;
    for (const JobPhase phase : {JobPhase::running, JobPhase::checkpointing}) {
        job.seen.phase = phase;
        CHECK(watch.look(view).work_at_risk == hours(48));
        job.seen.on_demand_held = 1;
        CHECK(watch.look(view).work_at_risk == hours(48));
    }
    // Nor does it help that on-demand had the model before a change of the group.
    job.hold(Market::on_demand);
    job.seen.phase = JobPhase::running;
    CHECK(watch.look(view).work_at_risk == hours(44));
    job.seen.spot_held = 1;
    job.seen.phase = JobPhase::transition;
    CHECK_FALSE(watch.look(view).leaves_on_demand);
    job.seen.phase = JobPhase::running;
    CHECK_FALSE(watch.look(view).leaves_on_demand);
}
