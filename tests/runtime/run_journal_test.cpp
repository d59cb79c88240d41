// run_journal_test.cpp — what one coordinator writes down the next one reads, as far as it counts.
#include "runtime/run_journal.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "base/input_error.hpp"
#include "base/read_file.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi::runtime {

namespace {

Instant at(std::int64_t ns) { return Instant::at(nanoseconds(ns)); }

JournalHeader header_of(std::uint32_t term) {
    JournalHeader header;
    header.identity = 7;
    header.run = "a run";
    header.term = term;
    header.machines = "m";
    header.budget_nano_usd = 12;
    header.resume_from = "a/checkpoint";
    header.before = "{}";
    return header;
}

std::vector<JournalRecord> all_of(RunPast past) {
    std::vector<JournalRecord> records;
    while (auto record = past.next()) records.push_back(std::move(*record));
    return records;
}

std::vector<std::int64_t> moments_of(RunPast past) {
    std::vector<std::int64_t> moments;
    for (const JournalRecord& record : all_of(std::move(past))) {
        moments.push_back(std::get<WentOn>(record).due.raw());
    }
    return moments;
}

}  // namespace

TEST_CASE("a run's journal: what is written is read again, each bit of it", "[journal]") {
    const ScratchFolder scratch;
    CHECK_FALSE(RunPast::read(scratch.path(), 2));
    StepDone done{3, 96, {}, {}};
    done.report.loss = std::numeric_limits<double>::quiet_NaN();
    done.report.words.resize(2);
    done.report.words[1].compute_ns = -5;
    {
        RunJournal journal(scratch.path(), header_of(1));
        journal.keep();
        journal.write(Took{at(1), done});
        journal.write(Took{at(2), AgentNoticed{4, "one", "it goes", {}, {InstanceId{9}}}});
        journal.write(Took{at(3), CheckpointSaved{3, 96, 10, "a file", {}}});
        journal.write(SetOut{at(4)});
        journal.write(WentOn{Instant::never()});
        journal.write(ToldEnd{at(5)});
        journal.write(MachineAnswered{at(6), InstanceId{2}, "{}", ""});
        journal.write(MachineReturned{"m-2", "kept"});
        journal.write(TakenOver{at(7), at(8), 2, 5});
        journal.write(WentBack{at(9), "an older file", 2, 64, "why"});
        CHECK_FALSE(journal.take_problem());
    }
    CHECK_THROWS_AS(RunJournal(scratch.path(), header_of(1)), InputError);
    auto past = RunPast::read(scratch.path(), 2);
    REQUIRE(past);
    CHECK(past->header().run == "a run");
    CHECK(past->header().budget_nano_usd == 12);
    CHECK_FALSE(past->header().stop_at_ns);
    CHECK(past->header().resume_from == "a/checkpoint");
    CHECK(past->header().before == "{}");
    const auto records = all_of(*past);
    REQUIRE(records.size() == 10);
    CHECK(std::get<WentBack>(records[9]).file == "an older file");
    const auto& step = std::get<StepDone>(std::get<Took>(records[0]).event);
    CHECK(step.position == 96);
    CHECK(std::isnan(step.report.loss));
    CHECK(step.report.words.at(1).compute_ns == -5);
    const auto& noticed = std::get<AgentNoticed>(std::get<Took>(records[1]).event);
    CHECK(noticed.workers == std::vector{InstanceId{9}});
    CHECK(std::get<CheckpointSaved>(std::get<Took>(records[2]).event).file == "a file");
    CHECK(std::get<WentOn>(records[4]).due == Instant::never());
    CHECK(std::get<MachineAnswered>(records[6]).machine == InstanceId{2});
    CHECK(std::get<TakenOver>(records[8]).term == 2);
    remove_journals(scratch.path());
    CHECK_FALSE(RunPast::read(scratch.path(), 2));
}

TEST_CASE("a run's journal: one that is cut short is read as far as it goes, a damaged one not",
          "[journal]") {
    const ScratchFolder scratch;
    {
        RunJournal journal(scratch.path(), header_of(1));
        journal.keep();
        for (int i = 1; i <= 3; ++i) journal.write(WentOn{at(i)});
    }
    const auto file = scratch.path() / "journal-0001";
    const std::string whole = read_file(file);
    for (std::size_t length = 0; length <= whole.size(); ++length) {
        CAPTURE(length);
        write_file_atomically(file, whole.substr(0, length));
        const auto past = RunPast::read(scratch.path(), 2);
        const std::size_t records = past ? all_of(*past).size() : 0;
        CHECK(records <= 3);
        if (length == whole.size()) CHECK(records == 3);
    }
    write_file_atomically(file, whole + std::string(40, '\0'));
    CHECK(all_of(*RunPast::read(scratch.path(), 2)).size() == 3);
    std::string damaged = whole;
    damaged[whole.size() - 25] ^= 1;  // of the second of three
    write_file_atomically(file, damaged);
    CHECK_THROWS_WITH(all_of(*RunPast::read(scratch.path(), 2)), Catch::Contains("is damaged"));
    write_file_atomically(file, "no journal at all");
    CHECK_THROWS_WITH(RunPast::read(scratch.path(), 2),
                      Catch::Contains("expected a run's journal"));
}

TEST_CASE("a run's journal: one whose run did not come to act leaves its term free", "[journal]") {
    const ScratchFolder scratch;
    {
        RunJournal journal(scratch.path(), header_of(2));
        CHECK_THROWS_AS(RunJournal(scratch.path(), header_of(2)), InputError);
    }
    CHECK_FALSE(last_journal(scratch.path()));
    { RunJournal(scratch.path(), header_of(2)).keep(); }
    CHECK(last_journal(scratch.path())->term == 2);
}

TEST_CASE("a run's journal: of each file counts what the next coordinator has read", "[journal]") {
    const ScratchFolder scratch;
    RunJournal first(scratch.path(), header_of(1));
    first.write(WentOn{at(1)});
    JournalHeader third = header_of(3);  // the second did not come to write anything
    {
        const auto past = RunPast::read(scratch.path(), 3);
        REQUIRE(past);
        third.follows = past->header().term;
        third.follows_bytes = past->bytes();
    }
    RunJournal next(scratch.path(), third);
    first.write(WentOn{at(99)});  // it has not noticed
    next.write(WentOn{at(2)});
    CHECK(moments_of(*RunPast::read(scratch.path(), 4)) == std::vector<std::int64_t>{1, 2});
    std::filesystem::resize_file(scratch.path() / "journal-0001", 30);
    CHECK_THROWS_WITH(RunPast::read(scratch.path(), 4), Catch::Contains("that were read of it"));
}

}  // namespace ukemi::runtime
