// train_test.cpp — `ukemi train` as its users end it: by a signal, by a limit, or by its own end.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "tests/cli/child.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A training of 340 parameters in steps of 16 samples, saved every 50 ms or so.
std::string scenario_text(std::int64_t samples) {
    return R"({"name": "small", "seed": 3,
  "job": {"samples": )" +
           std::to_string(samples) + R"(, "batch_per_worker": 8, "samples_per_epoch": 512,
          "throughput": {"1": "1000 samples/s", "4": "2000 samples/s"},
          "checkpoint": {"kind": "saved", "cost": "1 s"}, "restart": "1 s",
          "give_up_after": "4000 h"},
  "cluster": {"count_min": 2, "count_max": 2},
  "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
  "training": {"data": {"kind": "synthetic", "samples": 512, "features": 16, "classes": 4},
               "model": {"kind": "mlp", "hidden": [16]}, "learning_rate": 0.1,
               "optimiser": {"momentum": 0.9}},
  "policy_parameters": {"periodic_checkpoint": {"interval": "5 s"}},
  "replay": ["spot_only+periodic_checkpoint"]}
)";
}

constexpr std::int64_t endless = 1'000'000'000;

std::vector<std::string> train(std::vector<std::string> more) {
    std::vector<std::string> all{"train", "s.json", "--time-scale", "100", "--out", "out"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

std::vector<fs::path> checkpoints_in(const fs::path& folder) {
    std::vector<fs::path> found;
    if (!fs::exists(folder)) return found;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == ".ukemi") found.push_back(entry.path());
    }
    std::ranges::sort(found);
    return found;
}

// The steps that a checkpoint has, by its name.
std::int64_t steps_in(const fs::path& checkpoint) {
    return std::stoll(checkpoint.stem().string().substr(std::string("checkpoint-").size()));
}

// Waits until the run has saved for the first time, and tells it to end.
Ran run_until_saved(const fs::path& folder, const std::vector<std::string>& arguments, int signal) {
    return run_ukemi_until(folder, arguments, signal,
                           [&] { return !checkpoints_in(folder / "out-checkpoints").empty(); });
}

fs::path only_run(const fs::path& results) {
    std::vector<fs::path> runs;
    for (const auto& entry : fs::directory_iterator(results / "runs")) runs.push_back(entry.path());
    REQUIRE(runs.size() == 1);
    return runs.front();
}

std::int64_t rows_in(const fs::path& csv) {
    const std::string text = text_in(csv);
    return std::ranges::count(text, '\n') - 1;
}

}  // namespace

TEST_CASE("ukemi train: a signal ends it after a whole step, saved and written down",
          "[cli][live]") {
    const int signal = GENERATE(SIGINT, SIGTERM, SIGHUP);
    CAPTURE(signal);
    const ScratchFolder folder;
    write_file(folder.path() / "s.json", scenario_text(endless));
    const Ran ran = run_until_saved(folder.path(), train({}), signal);
    INFO(ran.err);
    CHECK(ran.code == 1);
    const auto saved = checkpoints_in(folder.path() / "out-checkpoints");
    REQUIRE_FALSE(saved.empty());
    const std::int64_t steps = steps_in(saved.back());
    CHECK(ran.err == fmt::format("stopped before step {0}: told to stop\n"
                                 "the model is saved, all {0} steps of it: {1}; --resume {1} with "
                                 "another --out goes on from it\n",
                                 steps, "out-checkpoints/" + saved.back().filename().string()));
    const fs::path run = only_run(folder.path() / "out");
    CHECK(rows_in(run / "steps.csv") == steps);
    CHECK_FALSE(text_in(run / "decisions.jsonl").empty());
    CHECK(text_in(run / "live.json").find("\"stopped\": \"told to stop\"") != std::string::npos);

    // It goes on from there, to the end of a work that is ten steps longer.
    write_file(folder.path() / "s.json", scenario_text(16 * (steps + 10)));
    const Ran rest = run_ukemi(folder.path(), {"train", "s.json", "--time-scale", "100", "--resume",
                                               fs::relative(saved.back(), folder.path()).string()});
    INFO(rest.err);
    CHECK(rest.code == 0);
    CHECK(rest.err.find(fmt::format("the model is saved, all {} steps of it", steps + 10)) !=
          std::string::npos);
    CHECK(rest.out.find("-from-checkpoint-") != std::string::npos);
}

TEST_CASE("ukemi train: what it goes on from is whole, and its clock and bill go on",
          "[cli][live]") {
    const ScratchFolder folder;
    write_file(folder.path() / "s.json", scenario_text(endless));
    const Ran first = run_ukemi_until(folder.path(), train({}), SIGTERM, [&] {
        return checkpoints_in(folder.path() / "out-checkpoints").size() >= 2;
    });
    INFO(first.err);
    const fs::path left = folder.path() / "out-checkpoints";
    const std::vector<fs::path> saved = checkpoints_in(left);
    REQUIRE(saved.size() == 2);
    fs::resize_file(saved[1], 100);
    const auto result_in = [&](const char* results) {
        return json::parse(text_in(folder.path() / results / "runs.json")).at("runs").at(0);
    };
    const double before_s = result_in("out").at("duration_s").get<double>();
    const double before_usd = result_in("out").at("cost_usd").get<double>();
    const std::int64_t steps = steps_in(saved[0]);
    write_file(folder.path() / "s.json", scenario_text(16 * (steps + 100)));
    const std::vector<std::string> resume{"train",    "s.json",          "--time-scale", "100",
                                          "--resume", "out-checkpoints", "--out",        "on"};
    const Ran rest = run_ukemi(folder.path(), resume);
    INFO(rest.err);
    CHECK(rest.code == 0);
    CHECK_THAT(rest.err, Catch::StartsWith("out-checkpoints/" + saved[1].filename().string() +
                                           ": is cut short") &&
                             Catch::Contains(fmt::format("{} is used in place of it, and {} step",
                                                         saved[0].filename().string(),
                                                         steps_in(saved[1]) - steps)) &&
                             Catch::Contains(fmt::format("goes on after {:.3f} s and {:.6f} USD",
                                                         before_s, before_usd)));
    CHECK(result_in("on").at("duration_s").get<double>() > before_s);
    CHECK(result_in("on").at("cost_usd").get<double>() > before_usd);
    CHECK(result_in("on").at("steps") == steps + 100);
    const json live = json::parse(text_in(only_run(folder.path() / "on") / "live.json"));
    CHECK(live.at("steps_made") == 100);
    CHECK(live.at("steps_of_model") == steps + 100);
    CHECK(live.at("resumed").at("steps") == steps);

    // What diff says of speed is of the steps that were made in the time that it looks at.
    const Ran diff = run_ukemi(folder.path(), {"diff", "on", "on", "--json"});
    REQUIRE(diff.code == 0);
    std::map<std::string, double> of;
    const json compared = json::parse(diff.out);
    for (const json& one : compared.at("runs").at(0).at("quantities")) {
        if (!one.at("measured").is_number()) continue;
        of[one.at("name").get<std::string>()] = one.at("measured").get<double>();
    }
    CHECK(of.at("training_samples_per_s") * of.at("training_s") == Approx(1600));

    const Ran again = run_ukemi(folder.path(), resume);
    CHECK(again.code == 0);
    CHECK_THAT(again.err, Catch::StartsWith("the job is finished: ") &&
                              Catch::Contains("nothing is bought, and nothing trained"));
    for (const fs::path& each : checkpoints_in(left)) fs::resize_file(each, 100);
    const Ran none = run_ukemi(folder.path(), resume);
    CHECK(none.code == 2);
    CHECK_THAT(none.err,
               Catch::Contains("no checkpoint that its account.json knows is whole; the newest: "));
}

TEST_CASE("ukemi train: a new run has no checkpoints of another beside its own", "[cli][live]") {
    const ScratchFolder folder;
    const fs::path left = folder.path() / "out-checkpoints";
    write_file(folder.path() / "s.json", scenario_text(endless));
    // Saves until the newest checkpoint has many times the steps that a first one has.
    std::optional<std::int64_t> first;
    run_ukemi_until(folder.path(), train({}), SIGKILL, [&] {
        const auto saved = checkpoints_in(left);
        if (!saved.empty() && !first) first = steps_in(saved.front());
        return first && !saved.empty() && steps_in(saved.front()) > 10 * *first + 1000;
    });
    const auto old = checkpoints_in(left);
    REQUIRE_FALSE(old.empty());
    const fs::path kept = folder.path() / "kept.ukemi";
    fs::copy_file(old.back(), kept);
    const Ran refused = run_ukemi(folder.path(), train({}));
    CHECK(refused.code == 2);
    CHECK(refused.err ==
          "ukemi: out-checkpoints: has checkpoints of a run: --resume out-checkpoints goes on with "
          "it, --force begins anew and removes them\n");
    CHECK(run_ukemi(folder.path(), train({"--force", "--policies", "none_such"})).code == 2);
    CHECK(checkpoints_in(left) == old);  // what is refused costs nothing

    write_file(left / "checkpoint-by-hand.ukemi", "x");
    const Ran anew = run_ukemi_until(folder.path(), train({"--force"}), SIGTERM, [&] {
        return fs::exists(left / "account.json") && !fs::exists(old.back()) &&
               checkpoints_in(left).size() > 1;
    });
    INFO(anew.err);
    CHECK(anew.code == 1);
    CHECK(fs::remove(left / "checkpoint-by-hand.ukemi"));
    const auto now = checkpoints_in(left);
    REQUIRE_FALSE(now.empty());
    const std::int64_t steps = steps_in(now.back());

    // One that somebody puts beside them is not the run's.
    const fs::path other = left / "checkpoint-999999999999.ukemi";
    fs::copy_file(kept, other);
    write_file(folder.path() / "s.json", scenario_text(16 * (steps + 10)));
    std::vector<std::string> resume{"train",    "s.json",          "--time-scale", "100",
                                    "--resume", "out-checkpoints", "--out",        "on"};
    const Ran rest = run_ukemi(folder.path(), resume);
    INFO(rest.err);
    CHECK(rest.code == 0);
    CHECK_THAT(rest.err,
               Catch::StartsWith("out-checkpoints/checkpoint-999999999999.ukemi: the account.json "
                                 "beside it does not know it; ") &&
                   Catch::Contains(fmt::format("{} is used in place of it\n",
                                               now.back().filename().string())) &&
                   Catch::Contains("goes on after "));
    const json live = json::parse(text_in(only_run(folder.path() / "on") / "live.json"));
    CHECK(live.at("resumed").at("steps") == steps);

    // Who names it gets it, without an account.
    write_file(folder.path() / "s.json", scenario_text(endless));
    resume[5] = "out-checkpoints/checkpoint-999999999999.ukemi";
    resume[7] = "named";
    resume.insert(resume.end(), {"--budget", "0.001"});
    const Ran named = run_ukemi(folder.path(), resume);
    CHECK_THAT(named.err, Catch::Contains("of a run that has not written it") &&
                              Catch::Contains("bill begin anew"));
}

TEST_CASE("ukemi train: a checkpoint of another training is refused in one line", "[cli][live]") {
    const ScratchFolder folder;
    write_file(folder.path() / "s.json", scenario_text(160));
    REQUIRE(run_ukemi(folder.path(), train({})).code == 0);
    const Ran ran = run_ukemi(folder.path(), {"train", "s.json", "--resume", "out-checkpoints",
                                              "--seed", "5", "--out", "on"});
    CHECK(ran.code == 2);
    CHECK(ran.err ==
          "ukemi: out-checkpoints/checkpoint-000000000010.ukemi: is of another training: script, "
          "data, model, optimiser or seed differ\n");
}

TEST_CASE("ukemi train: cores that are not there and too few workers are refused", "[cli][live]") {
    const ScratchFolder folder;
    write_file(folder.path() / "s.json", scenario_text(160));
    const Ran few = run_ukemi(folder.path(), train({"--workers", "1"}));
    CHECK(few.code == 2);
    CHECK(few.err ==
          "ukemi: --workers: 1 worker is fewer than the least number of the scenario, 2 (count_min "
          "at /cluster in s.json): expected as many, or --set /cluster/count_min=1\n");
    const std::vector<std::vector<std::string>> commands{
        train({}),
        {"calibrate", "s.json", "--out", "box.json"},
        {"predict", "s.json", "--costs", "box.json", "--out", "p"}};
    for (std::vector<std::string> command : commands) {
        command.insert(command.end(), {"--cores", "0,1023"});
        const Ran ran = run_ukemi(folder.path(), command);
        CAPTURE(command.front());
        CHECK(ran.code == 2);
        CHECK_THAT(ran.err, Catch::StartsWith("ukemi: --cores: expected cores that this process") &&
                                Catch::EndsWith(", found 1023\n"));
    }
    CHECK(names_in(folder.path()) == std::vector<std::string>{"s.json"});
}

TEST_CASE("ukemi train: a Python without torch is refused in one line", "[cli][live]") {
    const ScratchFolder folder;
    std::string text = scenario_text(160);
    const std::size_t at = text.find("\"training\"");
    text.replace(at, text.find("\"policy_parameters\"") - at,
                 "\"training\": {\"script\": \"train.py\"},\n  ");
    write_file(folder.path() / "s.json", text);
    write_file(folder.path() / "train.py", "");
    // Python's own modules alone, whatever is installed.
    const fs::path python =
        write_file(folder.path() / "bare", "#!/bin/sh\nexec python3 -I -S \"$@\"\n");
    fs::permissions(python, fs::perms::owner_all);
    const Ran ran = run_ukemi(folder.path(), train({"--script", "train.py", "--python", "./bare"}));
    CHECK(ran.code == 2);
    CHECK_THAT(ran.err,
               Catch::StartsWith("ukemi: --python: ") &&
                   Catch::Contains("bare cannot import torch, ukemi: expected a Python that "
                                   "has torch and ukemi"));
    CHECK(std::ranges::count(ran.err, '\n') == 1);
    CHECK(names_in(folder.path()) == std::vector<std::string>{"bare", "s.json", "train.py"});
}

TEST_CASE("ukemi train: results that cannot be written do not cost the model", "[cli][live]") {
    const ScratchFolder folder;
    write_file(folder.path() / "s.json", scenario_text(16 * 400));
    // No file may grow beyond 8 KiB: the model is smaller, the table of steps is not.
    const Ran ran = run_program(
        "/bin/sh", folder.path(),
        {"-c", fmt::format("ulimit -f 16; exec '{}' train s.json --time-scale 100 --out out",
                           UKEMI_BINARY)});
    INFO(ran.err);
    CHECK(ran.code == 1);
    CHECK(ran.err.find("the model is saved, all 400 steps of it") != std::string::npos);
    CHECK(ran.err.find("the results cannot be written: File too large") != std::string::npos);
    const auto saved = checkpoints_in(folder.path() / "out-checkpoints");
    REQUIRE_FALSE(saved.empty());
    CHECK(steps_in(saved.back()) == 400);
    CHECK_FALSE(fs::exists(folder.path() / "out"));
}

TEST_CASE("ukemi train: what is no checkpoint is refused by its header", "[cli][live]") {
    const ScratchFolder folder;
    write_file(folder.path() / "s.json", scenario_text(160));
    fs::resize_file(write_file(folder.path() / "vast", "x"), std::uintmax_t{1} << 35);
    const Ran ran = run_ukemi(folder.path(), train({"--resume", "vast"}));
    CHECK(ran.code == 2);
    CHECK(ran.err == "ukemi: vast: expected a checkpoint, found a file of another kind\n");
    CHECK(names_in(folder.path()) == std::vector<std::string>{"s.json", "vast"});
}

TEST_CASE("ukemi train: a prediction is run again by its run.json, with the same hash",
          "[cli][live]") {
    const ScratchFolder folder;
    write_file(folder.path() / "s.json", scenario_text(1600));
    const Ran costs =
        run_ukemi(folder.path(), {"calibrate", "s.json", "--out", "box.json", "--steps", "5",
                                  "--stretches", "1", "--repeat", "1", "--no-machine"});
    INFO(costs.err);
    REQUIRE(costs.code == 0);
    const Ran ran = run_ukemi(folder.path(), train({"--costs", "box.json"}));
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const Ran again = run_ukemi(folder.path(), {"replay", "./out-predicted", "--out", "again"});
    INFO(again.err);
    REQUIRE(again.code == 0);
    const auto run_of = [&](const char* results) {
        return json::parse(text_in(folder.path() / results / "runs.json")).at("runs").at(0);
    };
    CHECK(run_of("again").at("trace") == "calm");
    for (const char* key : {"event_hash", "duration_s", "cost_usd", "plans"}) {
        CHECK(run_of("again").at(key) == run_of("out-predicted").at(key));
    }
    // What comes of it can be run again, too.
    const auto predicted = [&](const char* results) {
        return json::parse(text_in(folder.path() / results / "run.json")).at("predicted");
    };
    CHECK(predicted("again") == predicted("out-predicted"));
}

TEST_CASE("ukemi train: results are no scenario, and no other command simulates them",
          "[cli][live][again]") {
    const ScratchFolder folder;
    REQUIRE(run_ukemi(folder.path(), {"init", "train", "s.json"}).code == 0);
    const Ran ran = run_ukemi(folder.path(), {"train", "s.json", "--set", "/job/samples=64",
                                              "--time-scale", "1000", "--out", "r"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const Ran again = run_ukemi(folder.path(), {"train", "r", "--out", "again"});
    CHECK(again.code == 2);
    CHECK_THAT(again.err,
               Catch::Contains("r/run.json: is of results: expected a scenario, such as "
                               "theirs, s.json; they were made by: ukemi train s.json "));
    CHECK_THAT(run_ukemi(folder.path(), {"replay", "r"}).err,
               Catch::Contains("is of a live run, which cannot be run again bit for bit"));
    CHECK_FALSE(fs::exists(folder.path() / "again"));
}

TEST_CASE("ukemi calibrate: measures what a scenario's rate would lead to no number",
          "[cli][live]") {
    const ScratchFolder folder;
    write_file(folder.path() / "s.json", scenario_text(1600));
    // Weights that are a hundred times as large after each step.
    const Ran ran = run_ukemi(
        folder.path(), {"calibrate", "s.json", "--set", "/training/learning_rate=100", "--set",
                        "/training/optimiser/weight_decay=1", "--out", "box.json", "--steps", "30",
                        "--stretches", "1", "--repeat", "1", "--only-plan", "--no-machine"});
    INFO(ran.err);
    CHECK(ran.code == 0);
    CHECK(fs::exists(folder.path() / "box.json"));
}

TEST_CASE("ukemi calibrate: what a killed one has left does not block the next", "[cli][live]") {
    const ScratchFolder folder;
    write_file(folder.path() / "s.json", scenario_text(1600));
    const std::vector<std::string> calibrate{"calibrate", "s.json", "--out",       "box.json",
                                             "--steps",   "5",      "--stretches", "1",
                                             "--repeat",  "1",      "--only-plan", "--no-machine"};
    const fs::path scratch = folder.path() / "box.json-checkpoints";
    const Ran killed = run_ukemi_until(folder.path(), calibrate, SIGKILL,
                                       [&] { return !checkpoints_in(scratch).empty(); });
    CHECK(killed.code == -SIGKILL);
    REQUIRE(fs::exists(scratch));
    const Ran next = run_ukemi(folder.path(), calibrate);
    INFO(next.err);
    CHECK(next.code == 0);
    CHECK(names_in(folder.path()) == std::vector<std::string>{"box.json", "s.json"});

    // What was never ours is not taken away.
    const fs::path foreign = folder.path() / "other.json-checkpoints";
    write_file(foreign / "mine", "x");
    const Ran refused = run_ukemi(folder.path(), {"calibrate", "s.json", "--out", "other.json"});
    CHECK(refused.code == 2);
    CHECK(refused.err.find("what runs here would remove it") != std::string::npos);
    CHECK(fs::exists(foreign / "mine"));
}

}  // namespace ukemi
