// output_folder_test.cpp — what may be replaced and what not, and that nothing is ever half there:
// with SIGKILL at 500 places, with and without a file system that exchanges.
#include "analysis/output_folder.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <map>
#include <thread>

#include "analysis/results.hpp"
#include "analysis/written_files.hpp"
#include "base/input_error.hpp"
#include "base/rng.hpp"
#include "tests/cli/child.hpp"
#include "tests/cli/killed_child.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;
using Texts = std::map<std::string, std::string>;

Texts texts_in(const fs::path& folder) {
    Texts texts;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (!entry.is_regular_file()) continue;
        texts[entry.path().lexically_relative(folder).string()] = text_in(entry.path());
    }
    return texts;
}

// A small result, written as all commands do.
void leave(const fs::path& folder, const std::string& text, bool force = true) {
    analysis::OutputFolder out(folder, force);
    out.write("a.txt", text);
    out.write("deep/b.txt", text + text);
    out.commit();
}

// The results of one run, as `ukemi replay` leaves them, under one of two seeds.
class TwoResults {
public:
    explicit TwoResults(const fs::path& folder)
        : folder_(folder),
          scenario_(small_scenario(R"({"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"})")) {
        for (const std::uint64_t seed : {1U, 2U}) {
            const scenarios::NamedMarket market = scenarios::make_market(scenario_, seed);
            runs_.push_back(scenarios::run_one(scenario_, market, scenario_.policies.front(), seed,
                                               {true, true, true, true}));
            write(runs_.size() - 1);
            texts_.push_back(texts_in(folder_));
        }
    }
    void write(std::size_t which) const {
        analysis::ReplayInputs inputs;
        inputs.scenario = &scenario_;
        inputs.policies = {"spot_only"};
        inputs.seeds = {which + 1};
        plots::FigureOptions options;
        options.gnuplot = "no-such-gnuplot";  // its data and its scripts are files enough
        analysis::OutputFolder out(folder_, true);
        analysis::write_results(out, inputs, std::span(&runs_[which], 1), options);
    }
    const Texts& texts(std::size_t which) const { return texts_[which]; }

private:
    fs::path folder_;
    scenarios::Scenario scenario_;
    std::vector<scenarios::FinishedRun> runs_;
    std::vector<Texts> texts_;
};

// Memory where there is some: 500 results would wait for a disk otherwise.
fs::path fast_folder() {
    const fs::path memory = "/dev/shm";
    return ::access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path();
}

}  // namespace

TEST_CASE("output folder: whenever it is killed, one whole result is there, old or new",
          "[cli][results][killed]") {
    const ScratchFolder scratch(fast_folder());
    const fs::path out = scratch / "out";
    const TwoResults results(out);
    REQUIRE(results.texts(0) != results.texts(1));
    REQUIRE(results.texts(0).size() > 10);
    const bool can_exchange = GENERATE(true, false);
    const auto write = [&](std::size_t which) {
        return [&results, which, can_exchange] {
            if (!can_exchange && !forbid_exchange()) ::_exit(99);
            results.write(which);
        };
    };
    const std::size_t stops = stops_of(write(0));
    if (stops == 0) {
        WARN("skipped: this machine lets no child be traced or its calls be refused");
        return;
    }
    RandomStream random(1, can_exchange ? "kills" : "kills without exchange");
    std::size_t there = 0;
    std::array<int, 2> seen{};  // kept the old, got the new
    for (int kill = 0; kill < (can_exchange ? 500 : 100); ++kill) {
        const auto stop =
            static_cast<std::size_t>(random.integer(1, static_cast<std::int64_t>(stops)));
        CAPTURE(can_exchange, kill, stop, stops);
        const ChildEnd end = killed_at(stop, write(1 - there));
        CHECK((end.killed || end.code == 0));
        // Where names cannot be exchanged, there is a moment at which the next one has to help.
        if (!can_exchange) const analysis::OutputFolder next(out, true);
        const Texts now = texts_in(out);
        const bool is_new = now == results.texts(1 - there);
        REQUIRE((is_new || now == results.texts(there)));
        ++seen[is_new ? 1 : 0];
        if (is_new) there = 1 - there;
    }
    CHECK(seen[0] > 0);
    CHECK(seen[1] > 0);
    results.write(there);
    CHECK(texts_in(out) == results.texts(there));
    CHECK(names_in(scratch.path()) == Names{"out"});  // what the killed ones left is gone
}

TEST_CASE("output folder: killed before there was anything, nothing or the whole is there",
          "[cli][results][killed]") {
    const ScratchFolder scratch(fast_folder());
    const fs::path out = scratch / "made/out";
    const auto write = [&] { leave(out, "x"); };
    const std::size_t stops = stops_of(write);
    if (stops == 0) {
        WARN("skipped: this machine lets no child be traced");
        return;
    }
    const Texts whole = texts_in(out);
    for (std::size_t stop = 1; stop <= stops; ++stop) {
        CAPTURE(stop, stops);
        fs::remove_all(out);
        killed_at(stop, write);
        if (fs::exists(out)) REQUIRE(texts_in(out) == whole);
    }
    leave(out, "x");
    CHECK(names_in(scratch / "made") == Names{"out"});
}

TEST_CASE("output folder: while one is written, others are kept out", "[cli][results]") {
    const ScratchFolder scratch;
    write_file(scratch / "small.json", text_in(shipped("market/demo.json")));
    const std::vector<std::string> replay{"replay", "small.json", "--out",
                                          "out",    "--policies", "on_demand"};
    {
        const analysis::OutputFolder held(scratch / "out", false);
        const Ran ran = run_ukemi(scratch.path(), replay);
        CHECK(ran.code == 2);
        CHECK(ran.err ==
              "ukemi: out: another process is writing there now (it holds ./.out.lock)\n");
    }
    CHECK(names_in(scratch.path()) == Names{"small.json"});
}

TEST_CASE("output folder: a signal that ends the command takes its locks along", "[cli][results]") {
    const ScratchFolder scratch;
    write_file(scratch / "small.json", text_in(shipped("market/demo.json")));
    const int signal = GENERATE(SIGINT, SIGTERM, SIGHUP);
    const Ran ran = run_ukemi_until(
        scratch.path(),
        {"replay", "small.json", "--seeds", "1..100000", "--out", "out", "--csv", "rows.csv"},
        signal, [&] {
            return fs::exists(scratch / ".out.lock") && fs::exists(scratch / ".rows.csv.lock");
        });
    CHECK(ran.code == -signal);
    CHECK(names_in(scratch.path()) == Names{"small.json"});
}

TEST_CASE("output folder: of three processes started together, one writes and two are refused",
          "[cli][results]") {
    const ScratchFolder scratch;
    write_file(scratch / "s.json", text_in(shipped("market/demo.json")));
    for (int round = 0; round < 3; ++round) {
        const std::string out = "out" + std::to_string(round);
        std::array<Ran, 3> ran;
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < ran.size(); ++i) {
            threads.emplace_back([&, i] {
                ran[i] = run_ukemi(scratch.path(), {"replay", "s.json", "--out", out, "--policies",
                                                    "on_demand", "--seeds", std::to_string(i)});
            });
        }
        for (std::thread& thread : threads) thread.join();
        std::string winner;
        for (std::size_t i = 0; i < ran.size(); ++i) {
            CAPTURE(round, i, ran[i].err);
            CHECK((ran[i].code == 0 || ran[i].code == 2));
            if (ran[i].code == 0) winner += std::to_string(i);
            if (ran[i].code == 2) CHECK(is_one_line(ran[i].err));
        }
        REQUIRE(winner.size() == 1);
        CHECK_FALSE(analysis::foreign_file(scratch / out));
        const std::string seed = "--seed-" + winner;
        CHECK(names_in(scratch / out / "runs").front().ends_with(seed));
    }
    CHECK(names_in(scratch.path()) == Names{"out0", "out1", "out2", "s.json"});
}

TEST_CASE("output folder: only what a run wrote is replaced, file by file", "[cli][results]") {
    const ScratchFolder scratch;
    const fs::path out = scratch / "out";
    leave(out, "one");
    const auto complaint = [&] { return complaint_of([&] { leave(out, "two"); }); };
    CHECK(complaint() == "(no complaint)");
    CHECK(text_in(out / "a.txt") == "two");

    write_file(out / "deep/notes.txt", "mine");
    CHECK(complaint() == (out / "deep/notes.txt").string() +
                             ": no run wrote it, and it would be lost: move it away");
    fs::remove(out / "deep/notes.txt");
    write_file(out / "a.txt", "owt");  // as long as before
    CHECK(complaint() ==
          (out / "a.txt").string() +
              ": it was changed after a run wrote it, and it would be lost: move it away");
    fs::remove(out / "a.txt");
    CHECK(complaint() == "(no complaint)");  // what is gone needs no care
    fs::create_symlink(scratch / "elsewhere", out / "link");
    CHECK_THAT(complaint(), Catch::Contains("link: no run wrote it"));
    fs::remove(out / "link");

    fs::remove(out / std::string(analysis::manifest_name));
    CHECK(complaint() == out.string() + ": is there and is no results folder");
    write_file(out / "run.json", "{}");
    CHECK_THAT(complaint(), Catch::Contains("holds results of an earlier version"));
    write_file(out / std::string(analysis::manifest_name), "{\"files\": [1]}");
    CHECK_THAT(complaint(), Catch::Contains("manifest.json: damaged: "));
    CHECK(text_in(out / "deep/b.txt") == "twotwo");
}

TEST_CASE("output folder: what comes while a run is on is not lost either", "[cli][results]") {
    const ScratchFolder scratch;
    const fs::path out = scratch / "out";
    leave(out, "one");
    analysis::OutputFolder second(out, true);
    second.write("a.txt", "two");
    write_file(out / "notes.txt", "mine");
    const std::string complaint = complaint_of([&] { second.commit(); });
    CHECK_THAT(complaint, Catch::Contains("holds the results now, as ") &&
                              Catch::Contains("notes.txt: no run wrote it"));
    const fs::path kept = complaint.substr(0, complaint.find(": "));
    CHECK(text_in(kept / "a.txt") == "two");
    CHECK(text_in(out / "a.txt") == "one");
    CHECK(text_in(out / "notes.txt") == "mine");

    analysis::OutputFolder third(scratch / "new", false);
    third.write("a.txt", "three");
    write_file(scratch / "new/notes.txt", "mine");
    CHECK_THAT(complaint_of([&] { third.commit(); }), Catch::Contains("was filled while this ran"));
    CHECK(names_in(scratch / "new") == Names{"notes.txt"});
}

TEST_CASE("output folder: what cannot be replaced is refused before the run", "[cli][results]") {
    const ScratchFolder scratch;
    write_file(scratch / "s.json", text_in(shipped("market/demo.json")));
    write_file(scratch / "in/out/here.txt", "x");
    fs::create_symlink("nowhere", scratch / "dangling");
    struct Wrong {
        std::string out;
        const char* why;
    };
    const std::vector<Wrong> all = {{".", "is the folder you are in or holds it"},
                                    {"..", "is the folder you are in or holds it"},
                                    {"in/..", "is the folder you are in or holds it"},
                                    {scratch.path().string(), "is the folder you are in"},
                                    {"/", "is the root"},
                                    {"/proc", "is a mount point"},
                                    {"s.json", "expected a folder, found a file"},
                                    {"dangling", "is a symbolic link that leads nowhere"},
                                    {"in", "is there and is no results folder"}};
    for (const Wrong& wrong : all) {
        for (const bool force : {false, true}) {
            std::vector<std::string> arguments{"replay", "s.json", "--out", wrong.out};
            if (force) arguments.emplace_back("--force");
            const Ran ran = run_ukemi(scratch.path(), arguments);
            CAPTURE(wrong.out, force, ran.err);
            CHECK(ran.code == 2);
            CHECK(is_one_line(ran.err));
            CHECK_THAT(ran.err, Catch::Contains(wrong.why));
        }
    }
    CHECK(text_in(scratch / "in/out/here.txt") == "x");
    CHECK(names_in(scratch.path()) == Names{"dangling", "in", "s.json"});
}

TEST_CASE("output folder: through a link, what it names is replaced", "[cli][results]") {
    const ScratchFolder scratch;
    leave(scratch / "real", "one");
    fs::create_directory_symlink("real", scratch / "link");
    leave(scratch / "link", "two");
    CHECK(fs::is_symlink(scratch / "link"));
    CHECK(text_in(scratch / "real/a.txt") == "two");
}

TEST_CASE("output folder: every command that writes one refuses, and replaces with --force",
          "[cli][results]") {
    const ScratchFolder scratch;
    write_file(scratch / "s.json", text_in(shipped("market/demo.json")));
    write_file(scratch / "t.csv", "t_s,instances\n0,1\n3600,0\n7200,1\n");
    REQUIRE(run_ukemi(scratch.path(), {"replay", "s.json", "--out", "results"}).code == 0);
    const std::vector<std::vector<std::string>> commands = {
        {"replay", "s.json", "--policies", "on_demand"},
        {"compare", "s.json", "--vary", "policy=on_demand"},
        {"describe", "t.csv"},
        {"describe", "--topology", "dgx1_v100"},
        {"plot", "results"}};
    for (std::vector<std::string> arguments : commands) {
        CAPTURE(arguments);
        arguments.insert(arguments.end(), {"--out", "out"});
        REQUIRE(run_ukemi(scratch.path(), arguments).code == 0);
        const Ran again = run_ukemi(scratch.path(), arguments);
        CHECK(again.code == 2);
        CHECK(again.err == "ukemi: out: results are there already; --force replaces them\n");
        CHECK(again.out.empty());
        arguments.emplace_back("--force");
        CHECK(run_ukemi(scratch.path(), arguments).code == 0);
        write_file(scratch / "out/mine", "x");
        const Ran mine = run_ukemi(scratch.path(), arguments);
        CHECK(mine.code == 2);
        CHECK_THAT(mine.err, Catch::StartsWith("ukemi: out/mine: no run wrote it"));
        fs::remove_all(scratch / "out");
    }
    write_file(scratch / "results/figures/mine", "x");
    const Ran plot = run_ukemi(scratch.path(), {"plot", "results"});
    CHECK(plot.err ==
          "ukemi: results/figures/mine: no run wrote it, and it would be lost: move it away\n");
}

TEST_CASE("output file: refuses what is there, and what is no file", "[cli][results]") {
    const ScratchFolder scratch;
    const auto write = [&](const fs::path& file, bool force) {
        return complaint_of([&] { analysis::OutputFile(file, force).write("new"); });
    };
    const fs::path file = scratch / "a.json";
    CHECK(write(file, false) == "(no complaint)");
    CHECK(write(file, false) == file.string() + ": is there already; --force replaces it");
    write_file(scratch / "a.json.tmp-999999999-0", "of a dead process");
    CHECK(write(file, true) == "(no complaint)");
    CHECK(names_in(scratch.path()) == Names{"a.json"});
    CHECK_THAT(write("/dev/null", true),
               Catch::Contains("expected the name of a file to write, found a device"));
    CHECK_THAT(write(scratch.path(), true), Catch::Contains("found a directory"));
    CHECK_THAT(write(scratch / "no/a", true), Catch::Contains("expected a folder, found none"));
    {
        const analysis::OutputFile held(scratch / "b", false);
        CHECK_THAT(write(scratch / "b", true), Catch::Contains("another process is writing"));
    }
    const std::string scenario = shipped("learners/two_worlds.json").string();
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"calibrate", scenario, "--out", "a.json"},
          {"simulate", shipped("steps/shared_switches.json").string(), "--csv", "a.json"},
          {"simulate", shipped("steps/shared_switches.json").string(), "--perfetto", "a.json"}}) {
        const Ran ran = run_ukemi(scratch.path(), arguments);
        CHECK(ran.code == 2);
        CHECK(ran.err == "ukemi: a.json: is there already; --force replaces it\n");
    }
}

TEST_CASE("output file: no command replaces what it reads, by whatever name", "[cli][results]") {
    const ScratchFolder scratch;
    const fs::path& folder = scratch.path();
    write_file(folder / "up.csv", "# duration_s=36000\nt_s,instances\n0,1\n18000,0\n30000,1\n");
    fs::create_symlink("up.csv", folder / "link.csv");
    write_file(folder / "small.json", R"({"name": "small", "seed": 1, "job": {"work": "1 h"},
 "cluster": {"count": 1}, "replay": ["on_demand"],
 "market": {"availability": "up.csv", "spot_price": "1 USD/h", "on_demand_price": "3 USD/h"}})");
    fs::copy_file(shipped("steps/shared_switches.json"), folder / "step.json");
    fs::copy_file(shipped("jobs/shared_cluster.json"), folder / "jobs.json");
    write_file(folder / "work.csv",
               "job_id,submission_time,num_gpu,duration\n0,0,1,600\n1,3600,1,700\n2,9000,2,800\n");
    REQUIRE(run_ukemi(folder, {"sweep", "small.json", "--out", "runs.db"}).code == 0);
    const Texts before = texts_in(folder);
    const std::string file = fs::absolute(folder / "small.json").string();
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"replay", "small.json", "--no-files", "--csv", "small.json"},
          {"replay", "small.json", "--no-files", "--csv", file},
          {"replay", "small.json", "--no-files", "--csv", "link.csv"},
          {"compare", "small.json", "--csv", "up.csv"},
          {"simulate", "step.json", "--csv", "./step.json"},
          {"simulate", "step.json", "--perfetto", "step.json"},
          {"schedule", "jobs.json", "--csv", "jobs.json"},
          {"describe", "up.csv", "--csv", "link.csv"},
          {"fit", "up.csv", "--out", "up.csv"},
          {"fit", "--jobs", "work.csv", "--out", "work.csv"},
          {"query", "runs.db", "--csv", "runs.db"}}) {
        std::vector<std::string> forced = arguments;
        forced.emplace_back("--force");
        CAPTURE(arguments);
        const Ran ran = run_ukemi(folder, forced);
        CHECK(ran.code == 2);
        CHECK(is_one_line(ran.err));
        CHECK_THAT(ran.err, Catch::Contains(arguments.back() + ": is read here"));
        CHECK(texts_in(folder) == before);
    }
}

}  // namespace ukemi
