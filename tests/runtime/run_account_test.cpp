// run_account_test.cpp — the time and the money of a run are read as they were written, or refused.
#include "runtime/run_account.hpp"

#include <catch2/catch.hpp>

#include "base/read_file.hpp"
#include "tests/scenarios/scenario_text.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi::runtime {

namespace {

RunAccount made_account() {
    RunAccount account;
    account.job = 0xfedcba9876543210;
    account.pieces = 2;
    account.saved_steps = {35795, 62698};
    records::RunResult& totals = account.totals;
    totals.duration = seconds(9);
    totals.worker_time = seconds(12);
    totals.egress = nano_dollars(5);
    totals.spot = {seconds(11), nano_dollars(70)};
    totals.on_demand = {seconds(3), nano_dollars(30)};
    totals.causes.time = {seconds(8), seconds(1), seconds(2), seconds(1), seconds(1), seconds(1)};
    totals.causes.cost = {nano_dollars(50), nano_dollars(10), nano_dollars(10),
                          nano_dollars(10), nano_dollars(10), nano_dollars(10)};
    totals.launches = 4;
    totals.failures = 1;
    totals.checkpoints = 7;
    return account;
}

}  // namespace

TEST_CASE("a run's account: what is written beside checkpoints is read again", "[account]") {
    const ScratchFolder folder;
    const RunAccount written = made_account();
    write_account(folder.path(), written);
    const auto read = account_beside(folder.path() / "checkpoint-1.ukemi", written.job);
    REQUIRE(read);
    CHECK(account_json(*read) == account_json(written));
    CHECK(read->is_of(62698));
    CHECK_FALSE(read->is_of(78290));
    CHECK(read->totals.held == seconds(14));
    CHECK(read->totals.cost == nano_dollars(105));
    CHECK_FALSE(account_beside(folder.path() / "checkpoint-1.ukemi", written.job + 1));
    CHECK_FALSE(account_beside(folder.path() / "elsewhere/checkpoint-1.ukemi", written.job));
    records::RunResult both = read->totals;
    add_earlier(read->totals, both);
    CHECK(both.duration == seconds(18));
    CHECK(both.causes.time_sum() == both.held);
    CHECK(both.causes.cost_sum() + both.egress == both.cost);
    CHECK(both.checkpoints == 14);
}

TEST_CASE("a run's account: one that is damaged is refused by its name", "[account]") {
    const std::string text = account_json(made_account());
    const auto complaint = [](const std::string& damaged) {
        return complaint_of([&] { account_from_text(damaged, "account.json"); });
    };
    CHECK_NOTHROW(account_from_text(text, "account.json"));
    CHECK_THAT(complaint(text.substr(0, text.size() / 2)), Catch::StartsWith("account.json"));
    std::string other = text;
    other.replace(other.find("8000000000"), 10, "8000000001");
    CHECK_THAT(complaint(other), Catch::Contains("add up"));
    CHECK_THAT(complaint("{}"), Catch::Contains("kind"));
}

}  // namespace ukemi::runtime
