// collective_records_test.cpp — recorded collectives, in the forms that others keep them in.
#include "tests/support/collective_records.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "base/input_error.hpp"
#include "tests/recorded.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {
namespace {

void write(const ScratchFolder& folder, const char* name, const std::string& text) {
    std::ofstream(folder.path() / name) << text;
}

const std::string header = "size(B),count,type,time(ns),busbw(GB/s),time(ns),busbw(GB/s)\n";
const std::string joined_header =
    "source,system,gpu,nodes,gpus_per_node,setup,collective,size_bytes,dtype,oop_time_us,"
    "oop_algbw_GBps,oop_busbw_GBps,ip_time_us,ip_algbw_GBps,ip_busbw_GBps,file\n";

}  // namespace

TEST_CASE("collective records: every table of a folder is read, and nothing else", "[records]") {
    const ScratchFolder folder;
    write(folder, "v100_3.csv",
          header + "1048576,262144,float,70140,14.95,69870,15.01\n" + "0,0,float,9000,0,9000,0\n");
    write(folder, "h100_16.csv", header + "2097152,524288,float,1036099,18.08,114500,18.32\n");
    write(folder, "README.md", "not a table");
    write(folder, "notes_1.txt", "not a table");
    write(folder, "v100_all.csv", "not a table");
    const auto records = test::read_collective_folder(folder.path());
    REQUIRE(records.size() == 2);  // by name: h100 first; a row without a size is left out
    CHECK(records[0].series == "h100");
    CHECK(records[0].per_machine == 16);
    CHECK(records[0].time == nanoseconds(1'036'099));
    CHECK(records[1].system == "v100");
    CHECK(records[1].machines == 1);
    CHECK(records[1].per_machine == 3);
    CHECK(records[1].size == mebibytes(1));
}

TEST_CASE("collective records: a table that is none is refused by file and line", "[records]") {
    const ScratchFolder folder;
    write(folder, "v100_2.csv", header + "1048576,262144,float,soon,14.95,69870,15.01\n");
    CHECK_THROWS_WITH(test::read_collective_folder(folder.path()),
                      Catch::Contains("v100_2.csv:2:") && Catch::Contains("a time in ns"));
    write(folder, "v100_2.csv", "size,time\n1,2\n");
    CHECK_THROWS_AS(test::read_collective_folder(folder.path()), InputError);
}

TEST_CASE("collective records: joined runs keep what was not varied as a series", "[records]") {
    const auto records = test::collective_records(traces::parse_nccl_tests(
        joined_header +
            "alcf,polaris,A100,8,4,x/setup1,all_reduce,1024,float,65.64,0.02,0.03,66,0.02,0.03,a\n"
            "alcf,polaris,A100,8,4,x/setup1,all_reduce,0,float,8.52,0,0,8.5,0,0,a\n"
            "alcf,polaris,A100,8,4,x/setup1,all_gather,1024,float,0.00,0,0,,,,a\n",
        "j.csv"));
    REQUIRE(records.size() == 1);  // one without a size and one without a time left out
    CHECK(records[0].series == "polaris x/setup1");
    CHECK(records[0].system == "polaris");
    CHECK(records[0].gpu == "A100");
    CHECK(records[0].collective == "all_reduce");
    CHECK(records[0].machines == 8);
    CHECK(records[0].per_machine == 4);
    CHECK(records[0].time == nanoseconds(65'640));
    CHECK_THROWS_WITH(traces::parse_nccl_tests(
                          joined_header + "a,b,c,0,4,s,all_reduce,4,float,1,1,1,,,,f\n", "j.csv"),
                      Catch::Contains("j.csv:2:") && Catch::Contains("a number of nodes"));
}

TEST_CASE("collective records: equal rows become their median", "[records]") {
    std::vector<test::CollectiveRecord> records(3);
    for (test::CollectiveRecord& record : records) record.size = bytes(8);
    records[0].time = nanoseconds(70);
    records[1].time = nanoseconds(10);
    records[2].time = nanoseconds(30);
    REQUIRE(test::medians(records).size() == 1);
    CHECK(test::medians(records)[0].time == nanoseconds(30));
    records.pop_back();
    CHECK(test::medians(records)[0].time == nanoseconds(40));
    records[0].per_machine = 2;
    CHECK(test::medians(records).size() == 2);
}

TEST_CASE("collective records: the recorded folders are read whole", "[records][golden]") {
    const auto data = recorded_data("vtrain_nccl");
    if (!data) {
        WARN("skipped: no recorded data: vtrain_nccl");
        return;
    }
    const auto tables = test::read_collective_folder(*data / "vtrain_nccl");
    REQUIRE(tables.size() >= 1024);
    CHECK(tables.size() % 1024 == 0);  // 1 MiB to 1 GiB in steps of one
}

}  // namespace ukemi
