// search_run_test.cpp — searches in simulated time: what pieces cost, who wins, and that learning
// does not depend on the machines.
#include <catch2/catch.hpp>

#include "schedulers/registry.hpp"
#include "sim/search/search_run.hpp"

namespace ukemi {

namespace {

// A metric that rises towards `ceiling`, the faster the larger `pace` is.
class RisingMetric final : public sim::LearningModel {
public:
    RisingMetric(double ceiling, double pace) : ceiling_(ceiling), pace_(pace) {}
    std::int64_t target() const override { return 1'000'000'000; }
    sim::LearningState after(const sim::LearningState& from, std::int64_t steps,
                             const sim::LearningStep& step) const override {
        return from.progress + steps * step.batch;
    }
    sim::LookAhead look_ahead(const sim::LearningState&, const sim::LearningStep&,
                              std::int64_t most) const override {
        return {most, false};
    }
    std::int64_t samples_left(const sim::LearningState&, const sim::LearningStep&) const override {
        return 1;
    }
    policies::GradientStatistics gradient(const sim::LearningState&,
                                          const sim::LearningStep&) const override {
        return {};
    }
    std::optional<double> metric(const sim::LearningState& at) const override {
        const double samples = static_cast<double>(at.progress);
        return ceiling_ * samples / (samples + 100 / pace_);
    }
    bool rate_of_plan() const override { return true; }
    std::shared_ptr<const sim::LearningModel> drawn(std::uint64_t) const override {
        return std::make_shared<RisingMetric>(ceiling_, pace_);
    }

private:
    double ceiling_;
    double pace_;
};

// Two keys: ceiling and pace. A step of 10 samples takes a second on one GPU, 0.6 s on two.
sim::TrialJob rising_trial(const sim::TrialSettings& settings) {
    sim::TrialJob job;
    job.learning =
        std::make_shared<RisingMetric>(std::stod(settings.at(0)), std::stod(settings.at(1)));
    job.step.batch = 10;
    job.samples = 900;
    job.step_time = {Duration{}, whole_seconds(1), nanoseconds(600'000'000)};
    job.gpus = 1;
    return job;
}

const sim::SearchSpace& rising_space() {
    static const sim::SearchSpace space = {
        {.pointer = "/ceiling", .low = 0.1, .high = 1, .points = 3},
        {.pointer = "/pace", .values = {"1", "2"}}};
    return space;
}

sim::SearchOutcome searched(sim::LearnedTrials& learned, std::string_view name, std::size_t trials,
                            std::int32_t gpus = 4, std::string_view scheduler = "fifo",
                            std::string_view parameters = "{}") {
    ConfigReader none = ConfigReader::from_text("{}", scheduler);
    const auto schedules = schedulers::find_scheduler(scheduler)->make(none);
    ConfigReader own = ConfigReader::from_text(parameters, name);
    const sim::SearcherEntry& entry = *sim::find_searcher(name);
    const auto searcher = entry.make(own);
    sim::SearchCluster where;
    where.cluster = sim::SharedCluster(1, gpus);
    where.restart = whole_seconds(5);
    return sim::run_search(where, learned, *searcher, {trials, 9, 1}, entry.on_grid, *schedules);
}

sim::LearnedTrials rising(std::uint64_t seed = 1) {
    return {rising_space(), rising_trial, 9, seed};
}

}  // namespace

TEST_CASE("search: a grid is trained whole, and the best wins", "[search]") {
    sim::LearnedTrials learned = rising();
    const sim::SearchOutcome outcome = searched(learned, "grid", sim::grid_size(rising_space()));
    REQUIRE(outcome.trials.size() == 6);
    CHECK(outcome.trials[0].settings == sim::TrialSettings{"0.1", "1"});
    CHECK(outcome.trials[3].settings == sim::TrialSettings{"0.55", "2"});
    CHECK(outcome.winner == 5);  // 1 and 2
    CHECK(outcome.trials[5].metric == Approx(900.0 / 950));
    // Each takes 90 s and a start: four at once, then two.
    CHECK(outcome.schedule.end == Instant::at(whole_seconds(2 * 95)));
    CHECK(outcome.gpu_s == 6 * 95);
    CHECK(outcome.full_gpu_s == 6 * 95);
    CHECK(outcome.restarts == 0);
}

TEST_CASE("search: what halving costs, to the second", "[search]") {
    sim::LearnedTrials learned = rising();
    const sim::SearchOutcome outcome = searched(learned, "successive_halving", 9, 9);
    // Nine trials of 1 unit (10 s), three of 2 more, one of 6 more, each with a start of 5 s.
    CHECK(outcome.schedule.end == Instant::at(whole_seconds(15 + 25 + 65)));
    CHECK(outcome.gpu_s == 9 * 15 + 3 * 25 + 65);
    CHECK(outcome.full_gpu_s == 9 * 95);
    CHECK(outcome.restarts == 4);
    double sum = 0;
    for (const sim::SearchedTrial& trial : outcome.trials) sum += trial.gpu_s;
    CHECK(sum == outcome.gpu_s);
    CHECK(outcome.pieces[9].from == 1);
    CHECK(outcome.pieces[9].came == Instant::at(whole_seconds(15)));
    const sim::FullComparison full = sim::compared_with_full(outcome, learned, false);
    CHECK(full.found <= full.metric);
    CHECK(full.same_winner == (full.winner == outcome.winner));
}

TEST_CASE("search: what a trial learns depends on no machine and no scheduler", "[search]") {
    sim::LearnedTrials one = rising();
    sim::LearnedTrials other = rising();
    const sim::SearchOutcome narrow = searched(one, "hyperband", 1, 1);
    const sim::SearchOutcome wide = searched(other, "hyperband", 1, 16, "tiresias");
    REQUIRE(narrow.trials.size() == wide.trials.size());
    CHECK(narrow.winner == wide.winner);
    for (std::size_t i = 0; i < narrow.trials.size(); ++i) {
        CHECK(narrow.trials[i].units == wide.trials[i].units);
        CHECK(narrow.trials[i].metric == wide.trials[i].metric);
        CHECK(narrow.trials[i].settings == wide.trials[i].settings);
    }
    CHECK(narrow.schedule.end > wide.schedule.end);
}

TEST_CASE("search: searchers of one seed draw the same trials", "[search]") {
    sim::LearnedTrials learned = rising(7);
    const sim::SearchOutcome all = searched(learned, "random", 9);
    const sim::SearchOutcome some = searched(learned, "asha", 9);
    for (std::size_t i = 0; i < 9; ++i) {
        CHECK(all.trials[i].settings == some.trials[i].settings);
        if (some.trials[i].units == 9) CHECK(all.trials[i].metric == some.trials[i].metric);
    }
    sim::LearnedTrials others = rising(8);
    CHECK(searched(others, "random", 9).trials[0].settings != all.trials[0].settings);
}

TEST_CASE("search: elastic trials take the GPUs that a scheduler gives them", "[search]") {
    sim::LearnedTrials learned = rising();
    const sim::SearchOutcome fixed = searched(learned, "random", 1, 2, "fifo");
    const sim::SearchOutcome elastic = searched(learned, "random", 1, 2, "optimus");
    CHECK(fixed.schedule.end == Instant::at(whole_seconds(95)));
    CHECK(elastic.schedule.end.raw() == Approx(59e9).margin(1e6));  // 54 s of work on two
    CHECK(elastic.winner == fixed.winner);
}

TEST_CASE("search: pbt's worst goes on from the best's weights", "[search]") {
    sim::LearnedTrials learned = rising();
    const sim::SearchOutcome outcome = searched(learned, "pbt", 5, 5, "fifo", R"({"interval": 3})");
    std::size_t copies = 0;
    for (const sim::TrainedPiece& piece : outcome.pieces) {
        if (!piece.asked.copies) continue;
        ++copies;
        CHECK(piece.from == piece.asked.until - 3);
        CHECK(*piece.asked.copies != piece.asked.trial);
    }
    CHECK(copies == 2);
    CHECK(outcome.pieces.size() == 15);
    for (const sim::SearchedTrial& trial : outcome.trials) CHECK(trial.units == 9);
}

TEST_CASE("search space: draws lie within, explored settings beside", "[search]") {
    const sim::SearchSpace space = {
        {.pointer = "/rate", .low = 0.001, .high = 10, .is_logarithmic = true, .points = 5},
        {.pointer = "/batch", .low = 8, .high = 64, .is_whole = true, .points = 2},
        {.pointer = "/rule", .values = {"\"a\"", "\"b\"", "\"c\""}}};
    double below_one_hundredth = 0;
    const auto drawn = sim::drawn_settings(space, 1000, 5);
    for (const sim::TrialSettings& one : drawn) {
        const double rate = std::stod(one[0]);
        CHECK((rate >= 0.001 && rate <= 10));
        CHECK(one[1].find('.') == std::string::npos);
        below_one_hundredth += rate < 0.01 ? 1 : 0;
    }
    CHECK(below_one_hundredth / 1000 == Approx(0.25).margin(0.05));  // one decade of four
    // However many are drawn, the first are the same.
    CHECK(sim::drawn_settings(space, 3, 5) ==
          std::vector<sim::TrialSettings>(drawn.begin(), drawn.begin() + 3));
    CHECK(sim::grid_size(space) == 30);
    CHECK(sim::grid_settings(space)[0] == sim::TrialSettings{"0.001", "8", "\"a\""});
    CHECK(sim::grid_settings(space)[29] == sim::TrialSettings{"10", "64", "\"c\""});
    for (std::int64_t at = 1; at < 50; ++at) {
        const auto next = sim::explored_settings(space, {"9.9", "10", "\"a\""}, 1, 2, at);
        CHECK((next[0] == "7.92" || next[0] == "10"));
        CHECK((next[1] == "8" || next[1] == "12"));
        CHECK((next[2] == "\"a\"" || next[2] == "\"b\""));
    }
}

}  // namespace ukemi
