// trace_commands_test.cpp — import, describe and fit around the file system: what they replace,
// what they print before something fails, and which files they read at all.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/child.hpp"
#include "traces/market_file.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;

const std::string week_csv = [] {  // lost for an hour of every six
    std::string text =
        "# zone=us-west-2a start=2023-02-15T00:00:00Z duration_s=604800\n"
        "t_s,instances\n";
    for (int hour = 0; hour < 168; hour += 6) {
        text += fmt::format("{},4\n{},0\n", hour * 3600, (hour + 5) * 3600);
    }
    return text;
}();

void make_pipe(const fs::path& file) { REQUIRE(::mkfifo(file.c_str(), 0600) == 0); }

// A job of an hour on a generated market.
std::string scenario_on(std::string_view market_file, std::string_view more) {
    return fmt::format(R"({{"name": "fitted", "seed": 1, "job": {{"work": "1 h"}},
        "cluster": {{"count": 1}},
        "market": {{"generate": {{"market": "{}", "length": "100 h"}},
                    "on_demand_price": "3 USD/h"{}}},
        "replay": ["spot_only"]}})",
                       market_file, more);
}

}  // namespace

TEST_CASE("ukemi fit: replaces a file with --force, and nothing that is no file", "[cli][fit]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "week.csv", week_csv);
    write_file(scratch.path() / "market.json", "mine");
    make_pipe(scratch.path() / "pipe.json");
    fs::create_directory(scratch.path() / "folder.json");
    fs::create_symlink("/dev/null", scratch.path() / "device.json");
    const auto fit_to = [&](const std::string& out) {
        return run_ukemi(scratch.path(), {"fit", "week.csv", "--out", out, "--force"});
    };
    for (const auto& [out, what] :
         {std::pair{"pipe.json", "a pipe"}, std::pair{"folder.json", "a directory"},
          std::pair{"device.json", "a device"}}) {
        CAPTURE(out);
        const Ran ran = fit_to(out);
        CHECK(ran.code == 2);
        CHECK(ran.out.empty());
        CHECK(ran.err == fmt::format("ukemi: {}: expected the name of a file to write, found {}\n",
                                     out, what));
    }
    CHECK(fs::is_fifo(scratch.path() / "pipe.json"));
    CHECK(fs::is_character_file(scratch.path() / "device.json"));
    CHECK(run_ukemi(scratch.path(), {"fit", "week.csv", "--out", "market.json"}).err ==
          "ukemi: market.json: is there already; --force replaces it\n");
    CHECK(fit_to("market.json").code == 0);
    CHECK_NOTHROW(traces::read_market_parameters(scratch.path() / "market.json"));
}

TEST_CASE("ukemi fit: a market without prices costs what its scenario says, or is refused",
          "[cli][fit]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "week.csv", week_csv);
    const Ran fit = run_ukemi(scratch.path(), {"fit", "week.csv", "--out", "market.json"});
    INFO(fit.err);
    REQUIRE(fit.code == 0);
    CHECK_THAT(fit.out, Catch::Contains("prices: none in the series"));
    CHECK_THAT(text_in(scratch.path() / "market.json"), !Catch::Contains("\"price\""));
    write_file(scratch.path() / "free.json", scenario_on("market.json", ""));
    write_file(scratch.path() / "paid.json",
               scenario_on("market.json", R"(, "spot_price": "1 USD/h")"));
    for (const char* command : {"check", "replay"}) {
        const Ran ran = run_ukemi(scratch.path(), {command, "free.json"});
        CHECK(ran.code == 2);
        CHECK(ran.err ==
              "ukemi: free.json: at /market: the market \"fitted\" was fitted to a record without "
              "prices: expected a \"spot_price\" beside \"generate\"\n");
    }
    CHECK(run_ukemi(scratch.path(), {"check", "paid.json"}).code == 0);
    const Ran paid = run_ukemi(scratch.path(), {"replay", "paid.json", "--out", "paid"});
    INFO(paid.err);
    CHECK(paid.code == 0);
    const auto runs = nlohmann::json::parse(text_in(scratch.path() / "paid/runs.json"));
    CHECK(runs.at("runs").at(0).at("cost_usd").get<double>() >=
          1);  // an hour of work at 1 USD/h, and waits
}

TEST_CASE("ukemi import and describe: print what was done, so nothing where writing fails",
          "[cli]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "week.csv", week_csv);
    write_file(scratch.path() / "file", "");
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"import", "week.csv", "--out", "file/plain"},
          std::vector<std::string>{"describe", "week.csv", "--out", "file/figures"},
          std::vector<std::string>{"describe", "--topology", "dgx1_v100", "--out", "file/f"}}) {
        CAPTURE(arguments);
        const Ran ran = run_ukemi(scratch.path(), arguments);
        CHECK(ran.code != 0);
        CHECK(ran.out.empty());
        CHECK(is_one_line(ran.err));
    }
    // A file in a folder's place is a wrong input, and nothing is made beside it.
    fs::copy_file(fs::path(UKEMI_SOURCE_DIR) / "tests/traces/nccl/corpus/table.txt",
                  scratch.path() / "table.txt");
    for (const char* out : {"file", "file/plain/deep"}) {
        for (const std::vector<std::string>& what : {std::vector<std::string>{"import", "week.csv"},
                                                     {"import", "nccl-tests", "table.txt"}}) {
            std::vector<std::string> arguments = what;
            arguments.insert(arguments.end(), {"--out", out});
            const Ran below = run_ukemi(scratch.path(), arguments);
            CHECK(below.code == 2);
            CHECK(is_one_line(below.err));
            CHECK_THAT(below.err, Catch::EndsWith("/file: expected a folder, found a file\n"));
        }
    }
    const Ran refused = run_ukemi(scratch.path(), {"import", "week.csv", "--out", "/proc/ukemi"});
    CHECK(refused.code == 1);
    CHECK(refused.err == "ukemi: /proc/ukemi: No such file or directory\n");
    // Of several files of one trace, all may be written or none is.
    write_file(scratch.path() / "two.csv", "0,add,node1\n120000,add,node2\n180000,remove,node2\n");
    write_file(scratch.path() / "plain/two.lifetimes.csv", "mine");
    const Ran ran = run_ukemi(scratch.path(), {"import", "two.csv", "--out", "plain"});
    CHECK(ran.code == 2);
    CHECK(ran.out.empty());
    CHECK(names_in(scratch.path() / "plain") == std::vector<std::string>{"two.lifetimes.csv"});
}

TEST_CASE("ukemi import nccl-tests: shortened logs say so, mixed ones are refused", "[cli]") {
    const ScratchFolder scratch;
    const std::string heading = "# size count type redop root time algbw busbw #wrong\n";
    // oracle-quickstart/oci-hpc-oke, BM.GPU4.8: the rows of 1 and 4 GiB, in its own words.
    write_file(scratch.path() / "short.log",
               "#  Rank  0 Group  0 Pid 490 on a device  0 [0000:0f:00] NVIDIA A100-SXM4-40GB\n"
               "#  Rank  7 Group  0 Pid 505 on a device  7 [0000:da:00] NVIDIA A100-SXM4-40GB\n"
               "#  Rank  8 Group  0 Pid 247 on b device  0 [0000:0f:00] NVIDIA A100-SXM4-40GB\n"
               "#  Rank 15 Group  0 Pid 263 on b device  7 [0000:da:00] NVIDIA A100-SXM4-40GB\n" +
                   heading +
                   "1073741824 268435456 float sum -1 10908.0 98.44 184.57 0\n"
                   "4294967296 1073741824 float sum -1 42391.0 101.32 189.97 0\n");
    const Ran read = run_ukemi(scratch.path(), {"import", "nccl-tests", "short.log"});
    CHECK(read.code == 0);
    CHECK(read.out ==
          "short.log: nccl-tests table, all_reduce, 16 ranks on 2 nodes, NVIDIA A100-SXM4-40GB, 2 "
          "rows\n"
          "  found: an all_reduce, by its bandwidths\n"
          "  found: \"#  Rank\" lines of 4 of 16 ranks are there\n"
          "  found: 2 nodes of 8, by the hosts and devices of these\n"
          "  out of place: 413.7 us + bytes / 102.316 GB/s, busbw at the limit 191.84 GB/s; "
          "1073741824 to 4294967296 B, 2 points, off by 0.0 % (rms), 0.0 % at most\n");
    // What gathers or scatters among 16: which of these is not known, nor its busbw.
    write_file(scratch.path() / "some.log",
               heading +
                   "0 0 uint8 none -1 0.21 0.00 0.00 0\n"
                   "17179869184 1073741824 uint8 none -1 379707 45.25 42.42 N/A\n");
    const Ran some = run_ukemi(scratch.path(), {"import", "nccl-tests", "some.log"});
    CHECK(some.out ==
          "some.log: nccl-tests table, unknown, 16 ranks, device unknown, 2 rows\n"
          "  found: nothing says which collective this is\n"
          "  found: 16 ranks, by its bandwidths\n");
    write_file(scratch.path() / "mixed.log",
               "#  Rank  0 Group  0 Pid 3591 on a device  0 [0x03] NVIDIA A100-PCIE-40GB\n"
               "#  Rank  0 Group  0 Pid 2451 on b device  0 [0x03] NVIDIA A100-PCIE-40GB\n" +
                   heading + "1073741824 268435456 float sum -1 10908.0 98.44 98.44 0\n");
    const Ran mixed = run_ukemi(scratch.path(), {"import", "nccl-tests", "mixed.log"});
    CHECK(mixed.code == 2);
    CHECK(mixed.out.empty());
    CHECK(is_one_line(mixed.err));
    CHECK_THAT(mixed.err, Catch::Contains("mixed.log:2:1: rank 0 is Pid 3591 on a device 0 and Pid "
                                          "2451 on b device 0: separate runs are mixed"));
}

TEST_CASE("ukemi import: the period is that of all series together", "[cli]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "prices.json", R"({"SpotPriceHistory": [
        {"AvailabilityZone": "a", "InstanceType": "t", "ProductDescription": "Linux/UNIX",
         "SpotPrice": "1", "Timestamp": "2023-01-01T00:00:00Z"},
        {"AvailabilityZone": "a", "InstanceType": "t", "ProductDescription": "Linux/UNIX",
         "SpotPrice": "2", "Timestamp": "2023-01-01T02:00:00Z"},
        {"AvailabilityZone": "b", "InstanceType": "t", "ProductDescription": "Linux/UNIX",
         "SpotPrice": "1", "Timestamp": "2023-01-01T09:00:00Z"},
        {"AvailabilityZone": "b", "InstanceType": "t", "ProductDescription": "Linux/UNIX",
         "SpotPrice": "2", "Timestamp": "2023-01-01T10:00:00Z"}]})");
    const Ran dated = run_ukemi(scratch.path(), {"import", "prices.json"});
    CHECK_THAT(dated.out, Catch::Contains("  period: 10.00 h, 2023-01-01T00:00:00Z to "
                                          "2023-01-01T10:00:00Z\n"));
    write_file(scratch.path() / "plain.csv", "t_s,instances\n0,1\n7200,1\n");
    const Ran plain = run_ukemi(scratch.path(), {"import", "plain.csv"});
    CHECK_THAT(plain.out, Catch::Contains("  period: 2.00 h, without a calendar\n"));
}

TEST_CASE("ukemi import: a pipe that somebody writes to is read, another one is refused", "[cli]") {
    const ScratchFolder scratch;
    make_pipe(scratch.path() / "pipe");
    const Ran ran = run_ukemi(scratch.path(), {"import", "pipe"});
    CHECK(ran.code == 2);
    CHECK(ran.err == "ukemi: pipe: expected a file, found a pipe to which nobody writes\n");
    // A scenario can name one, too.
    write_file(scratch.path() / "s.json", R"({"name": "s", "seed": 1, "job": {"work": "1 h"},
        "cluster": {"count": 1}, "replay": ["spot_only"],
        "market": {"on_demand_price": "3 USD/h", "spot_price": "1 USD/h",
                   "availability": "pipe"}})");
    CHECK(run_ukemi(scratch.path(), {"check", "s.json"}).code == 2);
    // Opened for both, the writing end is there before the reader looks.
    const int end = ::open((scratch.path() / "pipe").c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(end >= 0);
    REQUIRE(::write(end, week_csv.data(), week_csv.size()) ==
            static_cast<ssize_t>(week_csv.size()));
    Ran read;
    std::atomic<bool> is_over = false;
    std::thread reader([&] {
        read = run_ukemi(scratch.path(), {"import", "pipe"});
        is_over = true;
    });
    // What the reader has taken is gone from the pipe; then it waits for more, until we close.
    int left = 1;
    while (left > 0 && !is_over && ::ioctl(end, FIONREAD, &left) == 0) std::this_thread::yield();
    ::close(end);
    reader.join();
    CHECK(read.code == 0);
    CHECK_THAT(read.out, Catch::StartsWith("pipe: plain_availability, 56 rows"));
}

TEST_CASE("ukemi check: says that a file is no trace, and nothing of what is in it", "[cli]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "secret", "root:x:0:0:a secret, and another:/root:/bin/bash\n");
    const auto market = [&](const char* name, std::string_view text) {
        write_file(scratch.path() / name,
                   fmt::format(R"({{"name": "s", "seed": 1, "job": {{"work": "1 h"}},
                                    "cluster": {{"count": 1}}, "replay": ["spot_only"],
                                    "market": {{"on_demand_price": "3 USD/h", {}}}}})",
                               text));
        return run_ukemi(scratch.path(), {"check", name});
    };
    const Ran trace = market("trace.json", R"("availability": "secret")");
    CHECK(trace.code == 2);
    CHECK(
        trace.err ==
        "ukemi: secret:1:1: expected the beginning of a known trace form (for a table of your own: "
        "t_s,instances in the first line; see ukemi list traces), found another kind of file\n");
    write_file(scratch.path() / "quoted.json", "\"a secret that has no end and no sense\n");
    const Ran generated = market("market.json", R"("generate": {"market": "quoted.json",
                                                                 "length": "10 h"})");
    CHECK(generated.code == 2);
    CHECK_THAT(generated.err,
               Catch::StartsWith("ukemi: quoted.json:1:") && !Catch::Contains("secret that"));
    for (const char* cluster : {R"({"machine": "secret", "count": 2})",
                                R"({"machine": "./secret"})", R"({"astra_sim": "secret"})"}) {
        write_file(scratch.path() / "step.json",
                   fmt::format(R"({{"name": "s", "seed": 1, "cluster": {},
                                    "job": {{"model": "resnet50", "batch": 32, "steps": 2}}}})",
                               cluster));
        const Ran step = run_ukemi(scratch.path(), {"check", "step.json"});
        CAPTURE(cluster, step.err);
        CHECK(step.code == 2);
        CHECK(step.err.find("root:") == std::string::npos);
    }
}

}  // namespace ukemi
