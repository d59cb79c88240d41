// progress_test.cpp — what trainers count, and steps at a constant rate, by hand.
#include "sim/job/progress.hpp"

#include <catch2/catch.hpp>

namespace ukemi {

namespace {

Instant after(Duration time) { return Instant::at(time); }

// Steps of 10 s and 4 samples since second 100.
sim::Segment ten_seconds(std::int64_t samples_to_redo = 0) {
    return {after(whole_seconds(100)), {1, whole_seconds(10)}, 4, samples_to_redo};
}

}  // namespace

TEST_CASE("progress: a checkpoint keeps what it saved, and a loss falls back on it", "[progress]") {
    sim::Progress progress;
    CHECK(progress.kept() == sim::SavedWork{});
    CHECK_FALSE(progress.roll_back(0));  // nothing to lose
    CHECK(progress.roll_back(5) == sim::SavedWork{});
    progress.checkpoint_ended(sim::SavedWork{40, 10});
    CHECK(progress.checkpoints() == 1);
    CHECK_FALSE(progress.roll_back(40));
    CHECK(progress.roll_back(44) == sim::SavedWork{40, 10});
    progress.checkpoint_ended(std::nullopt);  // it failed
    CHECK(progress.checkpoints() == 1);
    CHECK(progress.kept() == sim::SavedWork{40, 10});
    progress.written({48, 12});
    CHECK(progress.kept() == sim::SavedWork{48, 12});
    CHECK(progress.checkpoints() == 1);
}

TEST_CASE("progress: the next checkpoint is an interval of running away", "[progress]") {
    sim::Progress progress;
    CHECK_FALSE(progress.until_checkpoint(policies::never_checkpoint));
    CHECK(progress.until_checkpoint(minutes(10)) == minutes(10));
    CHECK_FALSE(progress.ran_since_checkpoint());
    progress.ran(minutes(4));
    progress.ran(minutes(3));
    CHECK(progress.ran_since_checkpoint());
    CHECK(progress.until_checkpoint(minutes(10)) == minutes(3));
    CHECK(progress.until_checkpoint(minutes(5)) == Duration{});  // overdue
    SECTION("after one that ended, failed or not") {
        progress.checkpoint_ended(GENERATE(std::optional<sim::SavedWork>{}, sim::SavedWork{4, 1}));
        CHECK(progress.until_checkpoint(minutes(10)) == minutes(10));
    }
    SECTION("after falling back") {
        CHECK_FALSE(progress.roll_back(0));
        CHECK(progress.until_checkpoint(minutes(10)) == minutes(3));
        CHECK(progress.roll_back(1));
        CHECK(progress.until_checkpoint(minutes(10)) == minutes(10));
    }
}

TEST_CASE("progress: steps and the most that was ever done", "[progress]") {
    sim::Progress progress;
    progress.resume_at({100, 25});
    CHECK(progress.samples_most() == 100);
    CHECK(progress.kept() == sim::SavedWork{100, 25});
    CHECK(progress.checkpoints() == 0);
    progress.reached(120);
    progress.reached(110);  // after falling back
    CHECK(progress.samples_most() == 120);
    progress.steps_made(2, whole_seconds(20), after(whole_seconds(25)));
    progress.steps_made(1, whole_seconds(7), after(whole_seconds(40)));
    CHECK(progress.made().steps == 3);
    CHECK(progress.made().time == whole_seconds(27));
}

TEST_CASE("progress: the last step may be a part of one, and a save has a second to spare",
          "[progress]") {
    CHECK(sim::steps_for(0, 4) == 0);
    CHECK(sim::steps_for(-3, 4) == 0);
    CHECK(sim::steps_for(1, 4) == 1);
    CHECK(sim::steps_for(4, 4) == 1);
    CHECK(sim::steps_for(5, 4) == 2);
    const Instant deadline = after(minutes(10));
    const Instant latest = after(minutes(8) - whole_seconds(1));
    CHECK(sim::latest_save(deadline, minutes(2), after(minutes(1))) == latest);
    CHECK(sim::latest_save(deadline, minutes(2), latest) == latest);
    CHECK_FALSE(sim::latest_save(deadline, minutes(2), after(minutes(8))));
}

TEST_CASE("progress: a step under way ends at the next boundary", "[progress]") {
    const sim::Segment segment = ten_seconds();
    const auto second = [](std::int64_t number) { return after(whole_seconds(number)); };
    CHECK(segment.steps_by(second(100)) == 0);
    CHECK(segment.steps_by(second(129)) == 2);
    CHECK(segment.steps_by(second(130)) == 3);
    CHECK(segment.boundary_before(second(129)) == second(120));
    CHECK(segment.boundary_after(second(121)) == second(130));
    CHECK(segment.boundary_after(second(120)) == second(120));
    CHECK(segment.boundary_after(second(100)) == second(100));
    CHECK(segment.end_of(4) == second(140));
    // Work that is counted in nanoseconds can be interrupted anywhere.
    const sim::Segment fluid{second(100), {3, nanoseconds(2)}, 1, 0};
    CHECK(fluid.boundary_after(second(121) + nanoseconds(1)) == second(121) + nanoseconds(1));
}

TEST_CASE("progress: the first step of a segment may be longer or shorter than the others",
          "[progress]") {
    const auto second = [](std::int64_t number) { return after(whole_seconds(number)); };
    for (const std::int64_t later : {7, 0, -4}) {
        CAPTURE(later);
        sim::Segment segment = ten_seconds();
        segment.first_later = whole_seconds(later);
        CHECK(segment.end_of(0) == second(100));
        CHECK(segment.end_of(1) == second(110 + later));
        CHECK(segment.end_of(3) == second(130 + later));
        CHECK(segment.steps_by(second(100)) == 0);
        CHECK(segment.steps_by(second(109 + later)) == 0);
        CHECK(segment.steps_by(second(110 + later)) == 1);
        CHECK(segment.steps_by(second(129 + later)) == 2);
        CHECK(segment.boundary_before(second(105)) == second(100));
        CHECK(segment.boundary_after(second(105)) == second(110 + later));
        CHECK(segment.steps_to_checkpoint(whole_seconds(25), 1, 9) == (later == 7 ? 1 : 2));
    }
}

TEST_CASE("progress: steps redo what was done before, a part of a step counting as one",
          "[progress]") {
    const auto second = [](std::int64_t number) { return after(whole_seconds(number)); };
    CHECK(ten_seconds(0).redone_until(5) == second(100));
    CHECK(ten_seconds(-8).redone_until(5) == second(100));
    CHECK(ten_seconds(8).redone_until(5) == second(120));
    CHECK(ten_seconds(9).redone_until(5) == second(130));
    CHECK(ten_seconds(80).redone_until(5) == second(150));  // no more than there were
}

TEST_CASE("progress: a look and a checkpoint wait for a boundary", "[progress]") {
    const sim::Segment segment = ten_seconds();
    const auto second = [](std::int64_t number) { return after(whole_seconds(number)); };
    CHECK(segment.steps_until(second(100)) == 1);
    CHECK(segment.steps_until(second(105)) == 1);
    CHECK(segment.steps_until(second(120)) == 2);
    CHECK(segment.steps_until(second(121)) == 3);
    CHECK(segment.steps_to_checkpoint(whole_seconds(25), 1, 9) == 2);
    CHECK(segment.steps_to_checkpoint(whole_seconds(30), 1, 9) == 3);
    CHECK(segment.steps_to_checkpoint(whole_seconds(3), 1, 9) == 1);
    CHECK(segment.steps_to_checkpoint(whole_seconds(3), 0, 9) == 0);
    // The work is over by then.
    CHECK_FALSE(segment.steps_to_checkpoint(whole_seconds(90), 1, 9));
    CHECK_FALSE(segment.steps_to_checkpoint(whole_seconds(3), 1, 1));
}

}  // namespace ukemi
