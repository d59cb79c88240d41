// sweep_test.cpp — `ukemi sweep`, `merge` and `query`: the same runs whatever happens on the way,
// the same statistics as a replay's, and no file touched that is not ours.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/database/run_database.hpp"
#include "analysis/database/sqlite.hpp"
#include "analysis/database/stored_runs.hpp"
#include "base/rng.hpp"
#include "tests/cli/child.hpp"
#include "tests/cli/csv_rows.hpp"
#include "tests/cli/swept.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;
using analysis::SqliteDatabase;
using analysis::SqliteStatement;
using nlohmann::json;

const std::string swept_scenario = R"({"name": "small", "seed": 1,
 "job": {"work": "10 h", "deadline": "20 h"},
 "cluster": {"count": 1},
 "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
 "replay": ["on_demand", "greedy"]})";

fs::path with_swept_files(const fs::path& folder) {
    write_file(folder / "small.json", swept_scenario);
    write_file(folder / "rising.csv", rising_spot);
    return folder;
}

Ran sweep_small(const fs::path& folder, std::vector<std::string> options) {
    const std::vector<std::string> begin{"sweep", "small.json", "--traces", "rising.csv"};
    options.insert(options.begin(), begin.begin(), begin.end());
    return run_ukemi(with_swept_files(folder), options);
}

// Of a database that may be about to be made.
std::int64_t stored_so_far(const fs::path& file) {
    try {
        return stored_count(file);
    } catch (const std::exception&) {
        return 0;
    }
}

}  // namespace

TEST_CASE("ukemi sweep: a row a run, with the keys that were varied", "[cli][sweep]") {
    const ScratchFolder scratch;
    const Ran ran = sweep_small(scratch.path(), {"--vary", "/job/deadline=20 h,30h", "--seeds",
                                                 "1..3", "--out", "runs.db", "-j", "2"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    CHECK(ran.err.empty());
    CHECK_THAT(ran.out, Catch::StartsWith("runs.db: 36 runs made in "));
    CHECK(names_in(scratch.path()) == Names{"rising.csv", "runs.db", "small.json"});
    SqliteDatabase database(scratch / "runs.db", SqliteDatabase::Access::read);
    CHECK(database.integer("PRAGMA user_version") == 1);
    SqliteStatement row(database,
                        "SELECT variant, policy, count(*), avg(cost_usd), min(job_deadline_s), "
                        "max(deadline_s) FROM runs GROUP BY variant, policy ORDER BY 1, 2");
    const auto next = [&] {
        REQUIRE(row.step());
        return fmt::format("{}, {}: {} of {:.2f} USD, {} {}", row.text(0), row.text(1),
                           row.integer(2), row.real(3), row.real(4), row.real(5));
    };
    // greedy has 1, 3 and 0 h of spot at 1 USD in windows of 20 h from 0, 35 and 70 h, and 3, 3 and
    // 5 h in those of 30 h; the rest of its 10 h costs 3 USD.
    CHECK(next() == "/job/deadline=20 h, greedy: 9 of 27.33 USD, 72000 72000");
    CHECK(next() == "/job/deadline=20 h, on_demand: 9 of 30.00 USD, 72000 72000");
    CHECK(next() == "/job/deadline=30h, greedy: 9 of 22.67 USD, 108000 108000");
    CHECK(next() == "/job/deadline=30h, on_demand: 9 of 30.00 USD, 108000 108000");
    CHECK_FALSE(row.step());
}

TEST_CASE("ukemi query: the means, intervals and pairs are those of a replay", "[cli][sweep]") {
    const ScratchFolder scratch;
    REQUIRE(sweep_small(scratch.path(), {"--seeds", "1..3", "--out", "runs.db"}).code == 0);
    const Ran replay =
        run_ukemi(scratch.path(), {"replay", "small.json", "--traces", "rising.csv", "--seeds",
                                   "1..3", "--baseline", "on_demand", "--json"});
    REQUIRE(replay.code == 0);
    const json expected = json::parse(replay.out);
    const Ran ran = run_ukemi(scratch.path(),
                              {"query", "runs.db", "--baseline", "on_demand", "--csv", "q.csv"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.out, Catch::StartsWith("small\npolicy  ") &&
                            Catch::Contains("against on_demand") &&
                            Catch::Contains("over 5 windows of one trace") &&
                            Catch::Contains("\n20 more runs are the same under another seed"));
    const auto rows = csv_rows(scratch / "q.csv");
    REQUIRE(rows.size() == 2);
    for (const auto& row : rows) {
        CAPTURE(row.at("policy"));
        const auto own = std::ranges::find_if(expected.at("policies"), [&](const json& one) {
            return one.at("policy") == row.at("policy");
        });
        REQUIRE(own != expected.at("policies").end());
        CHECK(std::stod(row.at("runs")) == own->at("runs").get<double>());
        CHECK(std::stod(row.at("repeated")) == own->at("repeated").get<double>());
        CHECK(row.at("cluster") == own->at("cluster").get<std::string>());
        const json& cost = own->at("cost_usd");
        CHECK(std::stod(row.at("cost_usd_mean")) == cost.at("mean").get<double>());
        CHECK(std::stod(row.at("cost_usd_low_95")) == cost.at("low_95").get<double>());
        CHECK(std::stod(row.at("duration_s_mean")) ==
              Approx(3600 * own->at("hours").at("mean").get<double>()));
        if (row.at("policy") == "on_demand") {
            CHECK(row.at("cost_usd_difference_mean").empty());
            continue;
        }
        const json& pair = expected.at("pairs").at(0);
        CHECK(std::stod(row.at("pairs")) == pair.at("pairs").get<double>());
        CHECK(std::stod(row.at("cost_usd_difference_mean")) == -6);
        for (const char* column : {"cost_usd_difference_low_95", "cost_usd_ratio_high_95",
                                   "cost_usd_p", "cost_usd_p_holm"}) {
            CHECK(std::stod(row.at(column)) == pair.at(column).get<double>());
        }
    }
}

TEST_CASE("ukemi query: groups by any key, of any number", "[cli][sweep]") {
    const ScratchFolder scratch;
    REQUIRE(
        sweep_small(scratch.path(), {"--vary", "/job/deadline=20h,30h", "--out", "runs.db"}).code ==
        0);
    const auto grouped = [&](std::vector<std::string> options) {
        options.insert(options.begin(), {"query", "runs.db", "--json"});
        const Ran ran = run_ukemi(scratch.path(), options);
        INFO(ran.err);
        REQUIRE(ran.code == 0);
        return json::parse(ran.out).at("groups");
    };
    const json deadlines = grouped({"--by", "/job/deadline", "--metric", "launches,revocations"});
    REQUIRE(deadlines.size() == 2);
    CHECK(deadlines[0].at("job_deadline_s") == "72000");
    CHECK(deadlines[0].at("runs") == 6);
    CHECK(deadlines[1].at("job_deadline_s") == "108000");
    CHECK(deadlines[0].contains("launches_mean"));
    CHECK_FALSE(deadlines[0].contains("cost_usd_mean"));
    const json starts = grouped({"--by", "start_s,policy", "--metric", "cost_usd"});
    REQUIRE(starts.size() == 6);
    CHECK(starts[0].at("policy") == "greedy");
    // What nobody has is nothing.
    const json none = grouped({"--metric", "loss"});
    CHECK(none[0].at("loss_mean").is_null());
    CHECK(none[0].at("runs") == 3);
}

TEST_CASE("ukemi query: only the runs that are asked for, those in time first", "[cli][sweep]") {
    const ScratchFolder scratch;
    REQUIRE(sweep_small(scratch.path(), {"--policies", "spot_only,on_demand,greedy", "--vary",
                                         "/job/deadline=20h,30h", "--out", "runs.db"})
                .code == 0);
    const auto query = [&](std::vector<std::string> options) {
        options.insert(options.begin(), {"query", "runs.db"});
        return run_ukemi(scratch.path(), options);
    };
    const Ran all = query({"--where", "/job/deadline=20 h", "--csv", "q.csv"});
    INFO(all.err);
    REQUIRE(all.code == 0);
    // Who has never been in time is cheapest, and stands last all the same.
    const auto place = [&](const char* policy) { return all.out.find(policy); };
    CHECK(place("\ngreedy") < place("\non_demand"));
    CHECK(place("\non_demand") < place("\nspot_only"));
    const auto rows = csv_rows(scratch / "q.csv");
    REQUIRE(rows.size() == 3);
    for (const auto& row : rows) {
        CHECK(row.at("variant") == "/job/deadline=20h");
        CHECK(row.at("deadline_met_share") == (row.at("policy") == "spot_only" ? "0" : "1"));
    }
    const auto groups = [&](std::vector<std::string> options) {
        options.emplace_back("--json");
        return json::parse(query(options).out).at("groups").size();
    };
    CHECK(groups({"--where", "policy=greedy,on_demand"}) == 4);
    CHECK(groups({"--where", "policy=greedy,on_demand", "--where", "deadline_s=108000"}) == 2);
    CHECK(groups({"--where", "start_s=0", "--by", "policy"}) == 3);
    const auto complaint = [&](const char* where) {
        const Ran ran = query({"--where", where});
        CHECK(ran.code == 2);
        CHECK(is_one_line(ran.err));
        return ran.err;
    };
    CHECK_THAT(complaint("policy"), Catch::Contains("--where: expected COLUMN=VALUE"));
    CHECK_THAT(complaint("polcy=greedy"), Catch::Contains("did you mean \"policy\"?"));
    CHECK_THAT(complaint("policy=daly"), Catch::Contains("--where: expected one of the policies"));
    CHECK_THAT(complaint("seed=one"), Catch::Contains("expected numbers for seed, found \"one\""));
    CHECK_THAT(complaint("seed=7"), Catch::Contains("--where: no runs of ukemi "));
}

TEST_CASE("ukemi query: how many runs are in no pair with the baseline is said", "[cli][sweep]") {
    const ScratchFolder scratch;
    REQUIRE(sweep_small(scratch.path(), {"--policies", "spot_only,on_demand,greedy", "--vary",
                                         "/job/deadline=20h,30h", "--out", "runs.db"})
                .code == 0);
    const auto said = [&](std::vector<std::string> options) {
        options.insert(options.begin(), {"query", "runs.db", "--baseline", "on_demand"});
        const Ran ran = run_ukemi(scratch.path(), options);
        CHECK(ran.code == 0);
        return ran.err;
    };
    CHECK_THAT(said({}), !Catch::Contains("no pair"));
    CHECK_THAT(said({"--where", "/job/deadline=20 h"}), !Catch::Contains("no pair"));
    CHECK(said({"--where", "policy=greedy"}) ==
          "warning: --baseline on_demand: 6 runs are in no pair: --where leaves them no run of "
          "on_demand with the same trace, window and seed\n");
    // Of one group they are shown, of the other there are none.
    const Ran some = run_ukemi(scratch.path(), {"query", "runs.db", "--baseline", "on_demand",
                                                "--where", "policy=greedy", "--json"});
    CHECK(json::parse(some.out).at("warnings").size() == 1);
}

TEST_CASE("ukemi query: reads a database that it may not write, nor anything beside it",
          "[cli][sweep]") {
    if (::geteuid() != 0) {
        WARN("skipped: only root can become somebody who may not write here");
        return;
    }
    const ScratchFolder scratch;
    REQUIRE(sweep_small(scratch.path(), {"--out", "runs.db"}).code == 0);
    // Others may go there and read, and no more.
    for (const fs::path& folder : {scratch.path().parent_path(), scratch.path()}) {
        fs::permissions(folder, fs::perms::group_exec | fs::perms::others_exec,
                        fs::perm_options::add);
    }
    const fs::path strange = scratch / "a #?%20 name.db";
    fs::rename(scratch / "runs.db", strange);
    const pid_t reader = ::fork();
    if (reader == 0) {
        constexpr uid_t nobody = 65534;
        if (::setgid(nobody) != 0 || ::setuid(nobody) != 0) ::_exit(3);
        try {
            analysis::StoredRuns runs(strange);
            ::_exit(runs.builds().size() == 1 ? 0 : 1);
        } catch (const std::exception&) {
            ::_exit(2);
        }
    }
    int status = 0;
    REQUIRE(::waitpid(reader, &status, 0) == reader);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(names_in(scratch.path()) == Names{"a #?%20 name.db", "rising.csv", "small.json"});
}

TEST_CASE("ukemi sweep: goes on where it was killed", "[cli][sweep]") {
    const ScratchFolder scratch;
    const auto of_seeds = [&](std::int64_t last, const char* file) {
        return run_ukemi(scratch.path(), endless_sweep(last, {"--out", file, "--resume"}));
    };
#ifdef UKEMI_SANITIZED  // takes ten times as long
    constexpr int kills = 4;
    constexpr std::int64_t seeds_least = 100;
#else
    constexpr int kills = 20;
    constexpr std::int64_t seeds_least = 1667;  // ten thousand runs
#endif
    RandomStream random(1, "kills");
    const fs::path file = scratch / "killed.db";
    for (int kill = 0; kill < kills; ++kill) {
        const std::int64_t before = stored_so_far(file);
        std::int64_t looks = random.integer(1, 50);  // after more was written: somewhere in between
        const Ran killed = run_ukemi_until(
            scratch.path(), endless_sweep(many_seeds, {"--out", "killed.db", "--resume"}), SIGKILL,
            [&] { return stored_so_far(file) > before && --looks == 0; });
        CHECK(killed.code == -SIGKILL);
    }
    const std::int64_t reached = SqliteDatabase(file, SqliteDatabase::Access::read)
                                     .integer("SELECT max(seed) + 5 FROM runs");
    const std::int64_t last = std::max(reached, seeds_least);
    const std::int64_t survived = stored_count(file);
    CHECK(survived < 6 * last);
    const Ran rest = of_seeds(last, "killed.db");
    INFO(rest.err);
    REQUIRE(rest.code == 0);
    REQUIRE(of_seeds(last, "whole.db").code == 0);
    CHECK(stored_count(file) == 6 * last);
    CHECK(stored_rows(file) == stored_rows(scratch / "whole.db"));
    CHECK(names_in(scratch.path()) == Names{"killed.db", "whole.db"});
    fmt::print("killed {} times by SIGKILL: {} runs survived, {} made then; {} equal rows\n", kills,
               survived, 6 * last - survived, 6 * last);
}

TEST_CASE("ukemi sweep: Ctrl-C keeps what is done and says what it was", "[cli][sweep]") {
    const ScratchFolder scratch;
    const fs::path file = scratch / "runs.db";
    RunningProgram child(UKEMI_BINARY, scratch.path(),
                         endless_sweep(many_seeds, {"--out", "runs.db"}), Output::kept);
    const auto wait_a_little = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
    while (stored_so_far(file) == 0 && !child.has_ended()) wait_a_little();
    child.send(SIGINT);
    wait_a_little();
    child.send(SIGINT);  // as timeout(1) does: one for the process, one for its group
    const Ran ran = child.wait();
    INFO(ran.err);
    CHECK(ran.code == 128 + SIGINT);
    CHECK(ran.err.empty());
    const std::int64_t made = stored_count(file);
    CHECK(made > 0);
    CHECK(made < 6 * many_seeds);
    CHECK(ran.out == fmt::format("stopped: {} of {} runs were made and are in runs.db; the same "
                                 "with --resume makes the others\n",
                                 made, 6 * many_seeds));
    CHECK(names_in(scratch.path()) == Names{"runs.db"});
}

TEST_CASE("ukemi sweep: a change of the trace or of the scenario makes other runs",
          "[cli][sweep]") {
    const ScratchFolder scratch;
    const fs::path folder = with_swept_files(scratch.path());
    const auto again = [&] {
        const Ran ran = run_ukemi(folder, {"sweep", "small.json", "--traces", "rising.csv", "--out",
                                           "runs.db", "--resume"});
        INFO(ran.err);
        REQUIRE(ran.code == 0);
        return stored_count(scratch / "runs.db");
    };
    CHECK(again() == 10);
    CHECK(again() == 10);
    std::string described = swept_scenario;
    described.insert(1, R"("description": "of no effect", )");
    write_file(folder / "small.json", described);
    CHECK(again() == 10);
    std::string restarting = swept_scenario;
    restarting.replace(restarting.find(R"("10 h")"), 6, R"("9 h")");
    write_file(folder / "small.json", restarting);
    CHECK(again() == 20);
    write_file(folder / "rising.csv", rising_spot + "320000,1\n");
    CHECK(again() == 30);
    const Ran ran = run_ukemi(folder, {"query", "runs.db"});
    CHECK(ran.code == 0);
    CHECK_THAT(ran.err, Catch::Contains("warning: rising: is there with 2 contents"));
    CHECK_THAT(ran.out, Catch::Contains("small, scenario_id=1\n") &&
                            Catch::Contains("small, scenario_id=2\n"));
}

TEST_CASE("ukemi sweep: what is not ours is refused, and stays as it is", "[cli][sweep]") {
    const ScratchFolder scratch;
    with_swept_files(scratch.path());
    write_file(scratch / "text.db", std::string(5000, 'x'));
    fs::create_directory(scratch / "folder.db");
    {
        SqliteDatabase other(scratch / "other.db", SqliteDatabase::Access::write);
        other.execute("CREATE TABLE notes (note TEXT)");
    }
    REQUIRE(sweep_small(scratch.path(), {"--out", "runs.db"}).code == 0);
    fs::copy_file(scratch / "runs.db", scratch / "older.db");
    fs::copy_file(scratch / "runs.db", scratch / "narrow.db");
    {
        SqliteDatabase older(scratch / "older.db", SqliteDatabase::Access::write);
        older.execute("PRAGMA user_version = 0");
        SqliteDatabase narrow(scratch / "narrow.db", SqliteDatabase::Access::write);
        narrow.execute("DROP VIEW runs; ALTER TABLE results DROP COLUMN launches");
    }
    const std::pair<const char*, const char*> refused[] = {
        {"text.db", "text.db: expected a database of runs, found no database"},
        {"folder.db", "folder.db: expected a database of runs, found no regular file"},
        {"other.db", "other.db: is a database of another program"},
        {"older.db", "older.db: has schema 0, and ukemi"},
        {"narrow.db", "whose runs have no column \"launches\""}};
    for (const auto& [name, why] : refused) {
        CAPTURE(name);
        const fs::path file = scratch / name;
        const std::string before = fs::is_directory(file) ? "" : text_in(file);
        for (const std::vector<std::string>& arguments :
             {std::vector<std::string>{"sweep", "small.json", "--out", name, "--resume"},
              std::vector<std::string>{"query", name},
              std::vector<std::string>{"merge", name, "runs.db"},
              std::vector<std::string>{"merge", "new.db", "runs.db", name}}) {
            const Ran ran = run_ukemi(scratch.path(), arguments);
            CHECK(ran.code == 2);
            CHECK(is_one_line(ran.err));
            CHECK_THAT(ran.err, Catch::Contains(why));
        }
        CHECK((fs::is_directory(file) || text_in(file) == before));
        CHECK_FALSE(fs::exists(scratch / "new.db"));
    }
}

TEST_CASE("ukemi sweep: one at a time, and nothing twice", "[cli][sweep]") {
    const ScratchFolder scratch;
    REQUIRE(sweep_small(scratch.path(), {"--out", "runs.db"}).code == 0);
    const auto rows = stored_rows(scratch / "runs.db");
    const Ran twice = sweep_small(scratch.path(), {"--out", "runs.db"});
    CHECK(twice.code == 2);
    CHECK(twice.err == "ukemi: runs.db: holds 10 runs already: --resume adds what is missing\n");
    {
        const analysis::RunDatabase held(scratch / "runs.db", analysis::market_runs());
        const Ran second =
            sweep_small(scratch.path(), {"--out", "runs.db", "--resume", "--seeds", "2"});
        CHECK(second.code == 2);
        CHECK_THAT(second.err, Catch::Contains("runs.db: another process is writing there now"));
        CHECK(run_ukemi(scratch.path(), {"query", "runs.db"}).code == 0);  // readers are welcome
    }
    CHECK(stored_rows(scratch / "runs.db") == rows);
    const Ran self = run_ukemi(scratch.path(), {"merge", "runs.db", "./runs.db"});
    CHECK(self.code == 2);
    CHECK_THAT(self.err, Catch::Contains("is what the runs are to be added to"));
    fs::copy_file(scratch / "runs.db", scratch / "forged.db");
    {
        SqliteDatabase forged(scratch / "forged.db", SqliteDatabase::Access::write);
        forged.execute("UPDATE results SET event_hash = 'other' WHERE rowid = 3");
    }
    const Ran differs = run_ukemi(scratch.path(), {"merge", "runs.db", "forged.db"});
    CHECK(differs.code == 2);
    CHECK_THAT(differs.err, Catch::Contains("forged.db: the run ") &&
                                Catch::Contains("came out otherwise than in runs.db"));
    CHECK(stored_rows(scratch / "runs.db") == rows);
}

TEST_CASE("ukemi sweep: keys in another order make the same runs", "[cli][sweep]") {
    const ScratchFolder scratch;
    const std::vector<std::string> deadlines{"--vary", "/job/deadline=20h,30h"};
    const std::vector<std::string> notices{"--vary", "/market/notice=0s,2min"};
    const auto sweep = [&](std::vector<std::string> first, const std::vector<std::string>& second,
                           std::vector<std::string> more) {
        first.insert(first.end(), second.begin(), second.end());
        first.insert(first.end(), more.begin(), more.end());
        return sweep_small(scratch.path(), first);
    };
    REQUIRE(sweep(deadlines, notices, {"--out", "runs.db"}).code == 0);
    const auto rows = stored_rows(scratch / "runs.db");
    const Ran again = sweep(notices, deadlines, {"--out", "runs.db", "--resume"});
    INFO(again.err);
    CHECK(again.code == 0);
    CHECK(stored_rows(scratch / "runs.db") == rows);
    SqliteDatabase database(scratch / "runs.db", SqliteDatabase::Access::read);
    CHECK(database.integer("SELECT count(*) FROM scenarios") == 4);
    CHECK(database.integer("SELECT count(*) FROM scenarios WHERE variant LIKE '/job/deadline%'") ==
          4);  // as they were typed first
    REQUIRE(sweep(notices, deadlines, {"--out", "other.db"}).code == 0);
    REQUIRE(run_ukemi(scratch.path(), {"merge", "runs.db", "other.db"}).code == 0);
    CHECK(stored_rows(scratch / "runs.db") == rows);
}

TEST_CASE("ukemi sweep: where the disk is full, what was written before stays", "[cli][sweep]") {
    const ScratchFolder scratch;
    REQUIRE(sweep_small(scratch.path(), {"--out", "runs.db"}).code == 0);
    const auto rows = stored_rows(scratch / "runs.db");
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const rlimit small{512 << 10, before.rlim_max};  // for the child, which inherits it
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    const Ran full = sweep_small(scratch.path(), {"--out", "runs.db", "--resume", "--seeds",
                                                  "1..2000", "--policies", "greedy"});
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(full.code == 1);
    CHECK_THAT(full.err, Catch::Contains("ukemi: runs.db: cannot be written: "));
    const auto after = stored_rows(scratch / "runs.db");
    CHECK(std::ranges::includes(after, rows));
    const Ran rest = sweep_small(scratch.path(), {"--out", "runs.db", "--resume", "--seeds",
                                                  "1..2000", "--policies", "greedy"});
    CHECK(rest.code == 0);
    CHECK(stored_count(scratch / "runs.db") == 10 + 1999 * 5);
}

TEST_CASE("ukemi sweep and query: options that mean nothing are refused", "[cli][sweep]") {
    const ScratchFolder scratch;
    REQUIRE(sweep_small(scratch.path(), {"--out", "runs.db"}).code == 0);
    const auto complaint = [&](std::vector<std::string> arguments) {
        const Ran ran = run_ukemi(scratch.path(), std::move(arguments));
        CHECK(ran.code == 2);
        CHECK(is_one_line(ran.err));
        return ran.err;
    };
    for (const char* shard : {"0/3", "4/3", "1", "a/b", "1/3/5", "1/9999999"}) {
        CHECK_THAT(complaint({"sweep", "small.json", "--out", "s.db", "--shard", shard}),
                   Catch::Contains("--shard: expected I/N"));
    }
    CHECK(names_in(scratch.path()) == Names{"rising.csv", "runs.db", "small.json"});
    CHECK_THAT(complaint({"query", "none.db"}), Catch::Contains("there is no such file"));
    CHECK_THAT(complaint({"query", "runs.db", "--by", "polcy"}),
               Catch::Contains("--by: expected a column of runs, found \"polcy\" (did you mean "
                               "\"policy\"?)"));
    CHECK_THAT(complaint({"query", "runs.db", "--by", "/job/work"}),
               Catch::Contains("--by: expected a column of runs, found \"/job/work\""));
    CHECK_THAT(complaint({"query", "runs.db", "--metric", "trace"}),
               Catch::Contains("--metric: expected a column of runs that holds numbers"));
    CHECK_THAT(complaint({"query", "runs.db", "--by", "trace", "--baseline", "greedy"}),
               Catch::Contains("expected \"policy\" among the keys of --by"));
    CHECK_THAT(complaint({"query", "runs.db", "--baseline", "spot_only"}),
               Catch::Contains("--baseline: expected one of the policies "));
    CHECK_THAT(complaint({"query", "runs.db", "--build", "ukemi 9"}),
               Catch::Contains("--build: expected one of ukemi 0."));
    CHECK_THAT(complaint({"query", "runs.db", "--force"}),
               Catch::Contains("expected --csv beside it"));
}

}  // namespace ukemi
