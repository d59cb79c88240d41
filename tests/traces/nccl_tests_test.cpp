#include "traces/nccl_tests.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "base/input_error.hpp"
#include "base/read_file.hpp"
#include "tests/recorded.hpp"

using namespace ukemi;
using namespace ukemi::traces;

namespace {

// As nccl-tests 2.17 prints it; every form below is this one with what its vintage had.
constexpr std::string_view today =
    R"(# nccl-tests version 2.17.8 nccl-headers=22902 nccl-library=22902
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 warmup iters: 5 iters: 20
#
# Using devices
#  Rank  0 Group  0 Pid  11 on one device  0 [0000:9d:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid  12 on one device  1 [0000:c3:00] NVIDIA H100 80GB HBM3
#  Rank  2 Group  0 Pid  13 on two device  0 [0000:9d:00] NVIDIA H100 80GB HBM3
#  Rank  3 Group  0 Pid  14 on two device  1 [0000:c3:00] NVIDIA H100 80GB HBM3
#
# out-of-place in-place
# size count type redop root time algbw busbw #wrong time algbw busbw #wrong
# (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)
        1024 256 float sum -1 10.00 0.10 0.15 0 20.00 0.05 0.08 N/A
    33554432 8388608 float sum -1 1000.00 33.55 50.33 0 999.00 33.59 50.38 0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 25.2400
#
# Collective test concluded: all_reduce_perf
)";

std::vector<CollectiveTable> read_log(std::string_view text, const char* file = "log.txt") {
    return parse_nccl_tests(text, file);
}
std::string nccl_complaint(std::string_view text) {
    try {
        read_log(text);
    } catch (const InputError& error) {
        return error.what();
    }
    return "(none)";
}

}  // namespace

TEST_CASE("nccl-tests: the table of today is read whole", "[nccl_tests]") {
    const auto tables = read_log(today);
    REQUIRE(tables.size() == 1);
    const CollectiveTable& table = tables.front();
    CHECK(table.collective == "all_reduce");
    CHECK(table.form == "nccl-tests table");
    CHECK(table.ranks == 4);
    CHECK(table.nodes == 2);
    CHECK(table.devices == std::vector<std::string>{"NVIDIA H100 80GB HBM3"});
    CHECK(table.warm_up == 5);
    CHECK(table.iterations == 20);
    CHECK(table.out_of_bounds == 0);
    CHECK(table.average_busbw == 25.24);
    CHECK(table.notes.empty());
    REQUIRE(table.rows.size() == 2);
    const CollectiveRow& row = table.rows.front();
    CHECK(row.bytes == 1024);
    CHECK(row.count == 256);
    CHECK(row.type == "float");
    CHECK(row.out_of_place->time_us == 10);
    CHECK(row.out_of_place->wrong == 0);
    CHECK(row.in_place->time_us == 20);
    CHECK_FALSE(row.in_place->wrong.has_value());
    CHECK(table.rows.back().in_place->busbw_gbytes_s == 50.38);
}

TEST_CASE("nccl-tests: a log that was cut within a row is refused, or that is said",
          "[nccl_tests]") {
    const std::string_view last =
        "33554432 8388608 float sum -1 1000.00 33.55 50.33 0 999.00 33.59 50.38 0";
    const std::size_t row = today.find(last);
    const auto cut_after = [&](std::string_view word) {
        return today.substr(0, today.find(word, row) + word.size());
    };
    // As long as a row without its out-of-place half.
    CHECK(nccl_complaint(cut_after("50.33 0")) ==
          "log.txt:15:1: expected a row of 13 columns as in the heading, found 9");
    CHECK(nccl_complaint(std::string(cut_after("50.33 0")) + "\n") ==
          "log.txt:15:1: expected a row of 13 columns as in the heading, found 9");
    CHECK(nccl_complaint(cut_after("8388608")) ==
          "log.txt:15:1: expected a row of 13 columns as in the heading, found 2");
    const auto tables = read_log(cut_after("50.38 0"));
    REQUIRE(tables.size() == 1);
    CHECK(tables[0].rows.size() == 2);
    CHECK(tables[0].notes ==
          std::vector<std::string>{"nothing ends the last row: the log may be cut within it"});
    CHECK(read_log(std::string(cut_after("50.38 0")) + "\n").at(0).notes.empty());
    // All rows without that half are a replayed trace, whatever ends the last one.
    const std::size_t line = today.rfind('\n', row) + 1;
    const std::size_t before = today.rfind('\n', line - 2) + 1;  // the other row
    const std::string half(last.substr(0, last.find("50.33 0") + 7));
    const std::string replayed = std::string(today.substr(0, before)) + half;
    CHECK(nccl_complaint(replayed) ==
          "log.txt:14:1: expected a row of 13 columns as in the heading, found 9");
    const auto rows = read_log(replayed + "\n" + half);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].rows.size() == 2);
    CHECK(rows[0].notes.size() == 1);
}

TEST_CASE("nccl-tests: any line end will do", "[nccl_tests]") {
    for (const char* const line_end : {"\r\n", "\r"}) {
        std::string text;
        for (const char c : today) {
            if (c == '\n') {
                text += line_end;
            } else {
                text += c;
            }
        }
        const auto tables = read_log(text);
        REQUIRE(tables.size() == 1);
        CHECK(tables[0].rows.size() == 2);
        CHECK(tables[0].ranks == 4);
    }
}

TEST_CASE("nccl-tests: older tables have fewer columns, and errors for wrong elements",
          "[nccl_tests]") {
    const auto tables = read_log(
        R"(# nThread 1 nGpus 2 minBytes 8 warmup iters: 5 iters: 20
#   Rank  0 Pid  3450 on old device  0 [0x07] Tesla V100-SXM2-16GB
#   Rank  1 Pid  3450 on old device  1 [0x0a] Tesla V100-SXM2-16GB
#
#                                                     out-of-place                       in-place
# size count type redop time algbw busbw error time algbw busbw error
#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8 2 float sum 9.500 0.00 0.00 1e-07 9.300 0.00 0.00 0e+00
)");
    REQUIRE(tables.size() == 1);
    CHECK(tables[0].ranks == 2);
    CHECK(tables[0].devices == std::vector<std::string>{"Tesla V100-SXM2-16GB"});
    CHECK(tables[0].collective == "unknown");
    CHECK(tables[0].rows[0].out_of_place->time_us == 9.5);
    CHECK_FALSE(tables[0].rows[0].out_of_place->wrong.has_value());
}

TEST_CASE("nccl-tests: per-iteration columns, CPU times and timestamps are known", "[nccl_tests]") {
    const auto tables = read_log(
        "# Collective test starting: ./build/all_gather_perf\n"
        "# size count type redop root cputime algbw busbw #wrong i_min i_max i_p99 i_cv% "
        "cputime algbw busbw #wrong i_min i_max i_p99 i_cv% timestamp\n"
        "# (B) (elements) (ns) (GB/s) (GB/s) (us) (us) (us) (%) (us) %Y-%m-%d %H:%M:%S\n"
        " 2048 512 float none -1 10000.0 0.20 0.15 0 9000.0 12000.0 11000.0 4.50 "
        "20000.0 0.10 0.08 3 9000.0 12000.0 11000.0 4.50 2026-01-02 03:04:05\n");
    const CollectiveTable& table = tables.at(0);
    CHECK(table.collective == "all_gather");
    CHECK(table.cpu_time);
    const CollectiveTime& half = *table.rows.at(0).out_of_place;
    CHECK(half.time_us == Approx(10));  // the heading says ns
    CHECK(half.p99_us == Approx(11));
    CHECK(half.cv_percent == 4.5);
    CHECK(table.rows[0].in_place->wrong == 3);
    CHECK(table.notes ==
          std::vector<std::string>{"4 ranks, by its bandwidths",  // 0.7073 to 0.7579 of algbw
                                   "1 times with wrong elements: left out of fits"});
    CHECK_FALSE(alpha_beta(tables, BufferUse::in_place).has_value());
}

TEST_CASE("nccl-tests: several tables in one log, with prefixes and other output between them",
          "[nccl_tests]") {
    std::string log = "host:1:1 [0] NCCL INFO Bootstrap\n";
    for (std::size_t at = 0; at < today.size();) {
        const std::size_t end = today.find('\n', at);
        log += "[1,0]<stdout>:" + std::string(today.substr(at, end + 1 - at));
        at = end + 1;
    }
    std::string gather(today);
    for (std::size_t at; (at = gather.find("all_reduce")) != std::string::npos;) {
        gather.replace(at, 10, "sendrecv");
    }
    const auto tables = read_log(log + "WARNING: something\n" + gather);
    REQUIRE(tables.size() == 2);
    CHECK(tables[0].collective == "all_reduce");
    CHECK(tables[0].ranks == 4);
    CHECK(tables[0].rows.size() == 2);
    CHECK(tables[1].collective == "sendrecv");
    CHECK(tables[1].ranks == 4);
    // busbw is 1.5 algbw there, and a sendrecv's factor is 1.
    REQUIRE_FALSE(tables[1].notes.empty());
    CHECK(tables[1].notes[0] == "busbw is 1.500 algbw, and 1.000 for sendrecv of 4 ranks");
    CHECK_THROWS_AS(check_one_machine(tables, "x"), InputError);
}

TEST_CASE("nccl-tests: a slow all-reduce that is not named is known by its bandwidths",
          "[nccl_tests]") {
    const auto named = [](double us, const char* algbw, const char* busbw) {
        std::string log;
        for (int rank = 0; rank < 8; ++rank) {
            log += fmt::format(
                "#  Rank {0} Group 0 Pid {0} on node-0{0} device 0 [07] Tesla V100\n", rank);
        }
        log += "# size count type redop root time algbw busbw #wrong\n";
        log += fmt::format("67108864 16777216 float sum -1 {} {} {} 0\n", us, algbw, busbw);
        return read_log(log).at(0).collective;
    };
    CHECK(named(83886, "0.80", "1.40") == "all_reduce");
    CHECK(named(203360, "0.33", "0.58") == "all_reduce");  // 1.758 of bytes / time
    CHECK(named(83886, "0.80", "0.70") == "unknown");      // seven eighths
    CHECK(named(8388600, "0.01", "0.01") == "unknown");
}

TEST_CASE("nccl-tests: the JSON of -J", "[nccl_tests]") {
    const auto tables =
        read_log(R"({"version":2,"args":[".\/build\/all_reduce_perf","-J"],"env":["A=1"],
        "nccl_version":22902,"config":{"nthreads":1,"ngpus":2,"warmup_iters":1,"iterations":20,
        "devices":[{"rank":0,"hostname":"h","device":0,"device_info":"NVIDIA H200"}]},
        "results":[{"size":1048576,"count":262144,"type":"float","redop":"sum","root":"    -1",
          "out_of_place":{"time":50.0,"alg_bw":20.97,"bus_bw":20.97,"nwrong":0.0},
          "out_of_place_per_iter":{"p99_us":61.5,"cv_pct":2.5,"times_us":[50.0]},
          "in_place":{"time":40.0,"alg_bw":"nan","bus_bw":26.21,"nwrong":null},
          "actual_iterations":20,"experiment_name":"x"}],
        "out_of_bounds":{"count":0,"okay":"true"},
        "average_bus_bandwidth":{"bandwidth":23.5,"okay":"unchecked"}})");
    const CollectiveTable& table = tables.at(0);
    CHECK(table.collective == "all_reduce");
    CHECK(table.ranks == 2);
    CHECK(table.iterations == 20);
    CHECK(table.devices == std::vector<std::string>{"NVIDIA H200"});
    CHECK(table.rows.at(0).out_of_place->p99_us == 61.5);
    CHECK(table.rows[0].out_of_place->wrong == 0);
    CHECK_FALSE(table.rows[0].in_place->wrong.has_value());
    CHECK(nccl_complaint(R"({"results": []})") ==
          "log.txt: at /results: expected at least one result");
    CHECK(nccl_complaint(R"({"results": [{"size": -1}]})") ==
          "log.txt: at /results/0/size: expected a whole number from 0 on, found -1");
    CHECK(nccl_complaint(R"({"a": 1, "a": 2})") != "(none)");
}

TEST_CASE("nccl-tests: what begins like a row and is none is refused with its place",
          "[nccl_tests]") {
    const std::string head = std::string(today.substr(0, today.find("        1024")));
    CHECK(nccl_complaint("hello\n") ==
          "log.txt: is no output of nccl-tests: there is no heading that begins with size, count "
          "and has a row below it");
    CHECK(nccl_complaint(head) == nccl_complaint(""));
    CHECK(nccl_complaint(head + "1024 256 float sum -1 10.0\n") ==
          "log.txt:14:1: expected a row of 13 columns as in the heading, found 6");
    CHECK(nccl_complaint(head + "1024 256 float sum -1 1x 0 0 0 1 0 0 0\n") ==
          "log.txt:14:1: expected a time, found \"1x\"");
    CHECK(nccl_complaint(head + "99999999999999999999 256 float sum -1 1 0 0 0 1 0 0 0\n") ==
          "log.txt:14:1: expected a size in bytes, found \"99999999999999999999\"");
    CHECK(nccl_complaint(head + "8 2 float sum -1 -5 0 0 0 1 0 0 0\n") ==
          "log.txt:14:1: expected a time, found \"-5\"");
}

TEST_CASE("nccl-tests: α–β over what was right, and no fit over two machines", "[nccl_tests]") {
    const auto tables = read_log(today);
    const auto fit = alpha_beta(tables, BufferUse::out_of_place);
    REQUIRE(fit.has_value());
    CHECK(fit->at(1024) == Approx(10e-6));
    CHECK(fit->at(33554432) == Approx(1000e-6));
    auto two = tables;
    two.push_back(tables.front());
    check_one_machine(two, "x");
    two.back().devices = {"NVIDIA A100"};
    CHECK_THROWS_WITH(check_one_machine(two, "x"),
                      "x: measured on NVIDIA H100 80GB HBM3 and on NVIDIA A100: no fit mixes "
                      "devices");
    CHECK_THAT(to_plain_csv(tables), Catch::StartsWith("collective,ranks,nodes,devices,") &&
                                         Catch::Contains("\nall_reduce,4,2,NVIDIA H100 80GB HBM3,"
                                                         "1024,float,out_of_place,10,"));
}

TEST_CASE("nccl-tests: a recorded log of ten machines is read", "[nccl_tests]") {
    const auto data = recorded_data();
    const auto h100 = read_nccl_tests(*data / "nccl_bench/xxrjun_raw/nccl_N10_G2.log.gz");
    CHECK(h100.size() >= 4);
    for (const CollectiveTable& table : h100) {
        CAPTURE(table.collective);
        CHECK(table.ranks == 20);
        CHECK(table.nodes == 10);
        CHECK(table.notes.empty());
        // The footer is the mean over both halves of all rows.
        double sum = 0;
        for (const CollectiveRow& row : table.rows) {
            sum += row.out_of_place->busbw_gbytes_s + row.in_place->busbw_gbytes_s;
        }
        const double mean = sum / (2.0 * static_cast<double>(table.rows.size()));
        CHECK(table.average_busbw.value_or(0) == Approx(mean).epsilon(1e-3));
    }
}

TEST_CASE("nccl-tests: recorded logs of four more installations are read", "[nccl_tests]") {
    const auto data = recorded_data("nccl_bench/alcf_raw");
    if (!data) {
        WARN("skipped: no recorded data: nccl_bench/alcf_raw");
        return;
    }
    std::size_t logs = 0;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(*data / "nccl_bench/alcf_raw")) {
        if (!entry.is_regular_file()) continue;
        CAPTURE(entry.path().string());
        for (const CollectiveTable& table : read_nccl_tests(entry.path())) {
            CHECK(table.collective == "all_reduce");
            CHECK(table.ranks >= 8);
            CHECK(table.devices.size() == 1);
        }
        ++logs;
    }
    CHECK(logs >= 10);
    const auto collected = read_nccl_tests(*data / "nccl_bench/nccl_all.csv.gz");
    std::size_t rows = 0;
    for (const CollectiveTable& table : collected) rows += table.rows.size();
    CHECK(rows > 3000);
}

TEST_CASE("nccl-tests: vTrain's tables give the α and β that were found in them before",
          "[nccl_tests]") {
    const auto data = recorded_data("vtrain_nccl");
    if (!data) {
        WARN("skipped: no recorded data: vtrain_nccl");
        return;
    }
    // Relative least squares over out-of-place times (NETWORK.md, section 5): α in µs, busbw at
    // the limit in GB/s.
    struct Known {
        const char* file;
        int ranks;
        double alpha_us;
        double busbw;
    };
    for (const Known& known :
         {Known{"a100_2.csv", 2, 45.97, 192.95}, Known{"a100_8.csv", 8, 78.61, 227.29},
          Known{"v100_5.csv", 5, 41.65, 37.12}, Known{"v100_8.csv", 8, 75.89, 136.06}}) {
        CAPTURE(known.file);
        const auto tables = read_nccl_tests(*data / "vtrain_nccl" / known.file);
        CHECK(tables.at(0).ranks == known.ranks);
        const auto fit = alpha_beta(tables, BufferUse::out_of_place);
        REQUIRE(fit.has_value());
        const double factor = 2.0 * (known.ranks - 1) / known.ranks;
        CHECK(fit->fixed * 1e6 == Approx(known.alpha_us).epsilon(0.02));
        CHECK(factor / fit->per_unit / 1e9 == Approx(known.busbw).epsilon(0.005));
    }
}
