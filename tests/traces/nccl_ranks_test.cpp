// nccl_ranks_test.cpp — logs that were shortened, quoted, prefixed or printed into one another.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>

#include "base/input_error.hpp"
#include "traces/nccl_tests.hpp"

using namespace ukemi;
using namespace ukemi::traces;

namespace {

using Notes = std::vector<std::string>;

constexpr std::string_view heading =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n";

CollectiveTable table_of(std::string_view text, const char* file = "log.txt",
                         const NcclReadOptions& options = {}) {
    const auto tables = parse_nccl_tests(text, file, options);
    REQUIRE(tables.size() == 1);
    return tables.front();
}

std::string refused(std::string_view text) {
    try {
        parse_nccl_tests(text, "log.txt");
    } catch (const InputError& error) {
        return error.what();
    }
    return "(none)";
}

std::string rank_line(int rank, int device, std::string_view host, int process = 0) {
    return fmt::format(
        "#  Rank {:2} Group  0 Pid {:6} on {} device {:2} [0000:0f:00] NVIDIA A100\n", rank,
        process > 0 ? process : 500 + rank, host, device);
}

// A row of so many GB/s of busbw for so many of algbw.
std::string row_of(double algbw, double ratio, std::string_view operation = "sum",
                   std::int64_t bytes = 4294967296, int root = -1) {
    return fmt::format("{} {} float {} {} {:.1f} {:.2f} {:.2f} 0\n", bytes, bytes / 4, operation,
                       root, static_cast<double>(bytes) / algbw / 1e3, algbw, algbw * ratio);
}

// Every line of it behind something.
std::string behind(std::string_view prefix, std::string_view text) {
    std::string all;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        all += std::string(prefix) + std::string(text.substr(at, end + 1 - at));
        at = end + 1;
    }
    return all;
}

// oracle-quickstart/oci-hpc-oke prints four of sixteen ranks in its guide.
std::string shortened_log() {
    return rank_line(0, 0, "a") + rank_line(7, 7, "a") + rank_line(8, 0, "b") +
           rank_line(15, 7, "b") + std::string(heading) + row_of(101.32, 1.875);
}

}  // namespace

TEST_CASE("nccl-tests: rows of 0 bytes are in no fit", "[nccl_tests]") {
    // As an all-gather over 8 GPUs prints what is too small to be split.
    const std::string sent =
        "128 4 float none -1 16.12 0.01 0.01 0\n"
        "1073741824 33554432 float none -1 1486.06 722.54 632.22 0\n";
    const std::string none = "0 0 float none -1 0.17 0.00 0.00 0\n";
    const auto with = parse_nccl_tests(std::string(heading) + none + none + sent, "all_gather.txt");
    const auto without = parse_nccl_tests(std::string(heading) + sent, "all_gather.txt");
    const auto fit = alpha_beta(with, BufferUse::out_of_place);
    REQUIRE(fit);
    CHECK(fit->points == 2);
    CHECK(fit->x_min == 128);
    CHECK(fit->off_rms < 1e-9);
    CHECK(fit->fixed == alpha_beta(without, BufferUse::out_of_place)->fixed);
    CHECK(with.at(0).rows.size() == 4);
    const auto nothing = parse_nccl_tests(std::string(heading) + none + none, "log.txt");
    CHECK_FALSE(alpha_beta(nothing, BufferUse::out_of_place));
}

TEST_CASE("nccl-tests: separate runs in one output are refused", "[nccl_tests]") {
    const std::string settings = "# nThread 1 nGpus 2 minBytes 8 warmup iters: 5 iters: 20\n";
    const std::string first = rank_line(0, 0, "a", 3591) + rank_line(1, 1, "a", 3591);
    const std::string second = rank_line(0, 0, "b", 2451) + rank_line(1, 1, "b", 2451);
    const std::string rows = row_of(8.51, 1, "sum", 1048576) + row_of(18.38, 1, "sum", 268435456);
    const char* why =
        ": separate runs are mixed in this output (without MPI each process is a run of its own); "
        "give each a file of its own";
    CHECK(refused(settings + settings + first + second + std::string(heading) + rows) ==
          fmt::format("log.txt:5:1: rank 0 is Pid 3591 on a device 0 and Pid 2451 on b device 0{}",
                      why));
    CHECK(refused(rank_line(0, 0, "a", 7) + rank_line(0, 1, "a", 7) + std::string(heading) +
                  rows) != "(none)");
    // One behind the other, or without the lines of their ranks: sizes come twice.
    const std::string twice =
        fmt::format(": 1048576 B for the second time, after 2 beginnings{}", why);
    CHECK(refused(settings + first + settings + second + std::string(heading) + rows + rows) ==
          "log.txt:11:1" + twice);
    CHECK(refused(settings + settings + std::string(heading) + rows + rows) ==
          "log.txt:7:1" + twice);
    // The same line again is the same process.
    CHECK(table_of(settings + first + first + std::string(heading) + rows).ranks == 2);
    // Several reductions of one size, and a run that failed before its rows, are no such thing.
    const CollectiveTable again =
        table_of(settings + first + settings + second + std::string(heading) +
                 row_of(18.38, 1, "sum") + row_of(18.38, 1, "prod"));
    CHECK(again.ranks == 2);
    CHECK(again.nodes == 1);
    CHECK(again.places.at(0).host == "b");
    CHECK(again.notes == Notes{"2 beginnings before its rows: the last counts",
                               "an all_reduce, by its bandwidths"});
}

TEST_CASE("nccl-tests: ranks whose lines were left out are counted", "[nccl_tests]") {
    const CollectiveTable four = table_of(shortened_log());
    CHECK(four.ranks == 16);
    CHECK(four.nodes == 2);
    CHECK(four.collective == "all_reduce");
    CHECK(four.notes == Notes{"an all_reduce, by its bandwidths",
                              "\"#  Rank\" lines of 4 of 16 ranks are there",
                              "2 nodes of 8, by the hosts and devices of these"});
    // coreweave/nccl-tests, GB200: the last of 72 alone, four to a node.
    const CollectiveTable last = table_of(rank_line(71, 3, "slurm") + std::string(heading) +
                                          row_of(423.16, 834.57 / 423.16));
    CHECK(last.ranks == 72);
    CHECK(last.nodes == 18);
    // Without bandwidths that say it, by the highest.
    const CollectiveTable silent =
        table_of(rank_line(0, 0, "a") + rank_line(3, 3, "a") + std::string(heading) +
                 "8 2 float sum -1 9.50 0.00 0.00 0\n");
    CHECK(silent.ranks == 4);
    CHECK(silent.nodes == 1);
    CHECK(silent.notes.at(1) == "\"#  Rank\" lines of 2 of 4 ranks are there, by the highest");
}

TEST_CASE("nccl-tests: nodes are counted where the lines allow one number alone", "[nccl_tests]") {
    const auto nodes = [](const std::string& lines) {
        return table_of(lines + std::string(heading) + row_of(101.32, 1.875)).nodes;
    };
    // One node of 16, or two of 8.
    const std::string begin = rank_line(0, 0, "a") + rank_line(7, 7, "a");
    CHECK(nodes(begin) == 0);
    CHECK(nodes(begin + rank_line(15, 7, "b")) == 2);
    CHECK(nodes(begin + rank_line(15, 15, "a")) == 1);
    // Round the nodes in turn: no blocks.
    CHECK(nodes(rank_line(0, 0, "a") + rank_line(1, 0, "b") + rank_line(15, 7, "b")) == 0);
    // Each process sees one GPU: hosts alone count.
    CHECK(nodes(rank_line(15, 0, "b")) == 0);
    CHECK(nodes(rank_line(0, 0, "a") + rank_line(7, 0, "a") + rank_line(8, 0, "b") +
                rank_line(15, 0, "b")) == 2);
    const CollectiveTable unknown = table_of(begin + std::string(heading) + row_of(101.32, 1.875));
    CHECK(unknown.notes ==
          Notes{"an all_reduce, by its bandwidths",
                "16 ranks, by its bandwidths; \"#  Rank\" lines of 2 up to rank 7 are there",
                "unknown on how many nodes, 1 or more"});
    // One process is on one node.
    const CollectiveTable own = table_of("# nThread 1 nGpus 8 minBytes 8\n" + std::string(heading) +
                                         row_of(758.64, 0.875, "none"));
    CHECK(own.ranks == 8);
    CHECK(own.nodes == 1);
}

TEST_CASE("nccl-tests: bandwidths that say another number of ranks than the lines are trusted",
          "[nccl_tests]") {
    std::string lines;
    for (int rank = 0; rank < 4; ++rank) lines += rank_line(rank, rank, "a");
    const CollectiveTable more = table_of(lines + std::string(heading) + row_of(101.32, 1.875));
    CHECK(more.ranks == 16);
    CHECK(more.nodes == 0);
    // NCCL_TESTS_SPLIT: pairs side by side.
    const CollectiveTable less = table_of("# Collective test starting: all_reduce_perf\n" + lines +
                                          std::string(heading) + row_of(101.32, 1));
    CHECK(less.ranks == 2);
    CHECK(less.nodes == 0);
    // So many that two digits leave several.
    const CollectiveTable many =
        table_of(lines + std::string(heading) + row_of(40.01, 2 * 999.0 / 1000));
    CHECK(many.ranks == 0);
    CHECK_THAT(many.notes.at(1), Catch::EndsWith("are there: unknown how many"));
    // Rows that do not agree say nothing.
    const CollectiveTable unlike =
        table_of("# Collective test starting: all_reduce_perf\n" + lines + std::string(heading) +
                 row_of(101.32, 1.875) + row_of(50, 1.75));
    CHECK(unlike.ranks == 4);
    CHECK(unlike.notes == Notes{"busbw is 1.875 algbw, and 1.500 for all_reduce of 4 ranks"});
}

TEST_CASE("nccl-tests: bandwidths alone tell ranks, and an all-reduce", "[nccl_tests]") {
    const auto named = [](double algbw, double ratio, std::string_view operation = "sum",
                          int root = -1) {
        const CollectiveTable table =
            table_of(std::string(heading) + row_of(algbw, ratio, operation, 4294967296, root));
        return fmt::format("{} {} {}", table.collective, table.ranks, table.nodes);
    };
    CHECK(named(101.32, 1.875) == "all_reduce 16 0");
    CHECK(named(364.55, 683.52 / 364.55) == "all_reduce 16 0");  // dstack, A4
    CHECK(named(423.16, 834.57 / 423.16) == "all_reduce 72 0");
    CHECK(named(45.25, 42.42 / 45.25, "none") == "unknown 16 0");  // Vultr, B200: an all-to-all
    CHECK(named(101.32, 0.875) == "unknown 8 0");
    CHECK(named(101.32, 1) == "unknown 0 0");         // two ranks, or a broadcast
    CHECK(named(101.32, 1.77) == "all_reduce 0 0");   // 8.7 ranks
    CHECK(named(101.32, 1.998) == "all_reduce 0 0");  // 952 to 1050
    CHECK(named(0.05, 1.875) == "unknown 0 0");
    CHECK(named(101.32, 1.875, "none", 0) == "unknown 0 0");
    // Two ranks with a root: a broadcast, or a reduction to one.
    const std::string two = rank_line(0, 0, "a") + rank_line(1, 1, "a") + std::string(heading);
    CHECK(table_of(two + row_of(101.32, 1)).collective == "all_reduce");
    CHECK(table_of(two + row_of(101.32, 1, "sum", 4096000000, 0)).collective == "unknown");
    CHECK(table_of(two + row_of(101.32, 1, "none")).collective == "unknown");
    // What the user says of a log that says nothing holds.
    const CollectiveTable told =
        table_of(std::string(heading) + row_of(101.32, 0.875), "log.txt", {"reduce_scatter", 4});
    CHECK(told.ranks == 4);
    CHECK(told.notes == Notes{"busbw is 0.875 algbw, and 0.750 for reduce_scatter of 4 ranks"});
}

TEST_CASE("nccl-tests: prefixes of lines, and '#' that Markdown took", "[nccl_tests]") {
    const std::string log = shortened_log() + "# Out of bounds values : 0 OK\n";
    const CollectiveTable whole = table_of(log);
    for (const char* prefix :
         {"2025-02-12T10:00:00.123456789Z ", "2025-02-12T10:00:00.123456789+01:00 ",
          "    [1,0]<stdout>:", "[prterun-node-1234567890-host-name-of-a-pod@1,0]<stdout>: ",
          "node-1: ", "[pod/nccl-test-launcher-x2v/mpi] ", "> ", "  0: ", "\t",
          "2025-02-12T10:00:00Z [1,0]<stdout>:", "> node-1: "}) {
        CAPTURE(prefix);
        const CollectiveTable table = table_of(behind(prefix, log));
        CHECK(table.ranks == 16);
        CHECK(table.nodes == 2);
        CHECK(table.rows.at(0).out_of_place->time_us == whole.rows.at(0).out_of_place->time_us);
        CHECK(table.out_of_bounds == 0);
        CHECK(table.notes == whole.notes);
    }
    std::string bare =
        "nThread 1 nGpus 1 minBytes 8 warmup iters: 5 iters: 20 agg iters: 1\n" + log;
    std::erase(bare, '#');
    const CollectiveTable table = table_of(bare);
    CHECK(table.ranks == 16);
    CHECK(table.iterations == 20);
    CHECK(table.out_of_bounds == 0);
    CHECK(table.rows.at(0).out_of_place->wrong == 0);
    CHECK(table.notes == whole.notes);
}

TEST_CASE("nccl-tests: what others print within a table is no row and no rank", "[nccl_tests]") {
    const CollectiveTable table = table_of(shortened_log() +
                                           "Warning: 3 retries\n> 5 of 6\n2025-02-12T10:00:00Z 7 "
                                           "seconds\nRank 99 is ready\nsize 12\n" +
                                           row_of(101.32, 1.875));
    CHECK(table.rows.size() == 2);
    CHECK(table.ranks == 16);
    CHECK(table.notes.at(0) == "5 lines of other output");
}

TEST_CASE("nccl-tests: a log that ends anywhere is read or refused", "[nccl_tests]") {
    const std::string settings = "# nThread 1 nGpus 1 minBytes 8 warmup iters: 5 iters: 20\n";
    const std::string log = settings + shortened_log() + "# Avg bus bandwidth    : 184.2\n";
    for (const std::string& text : {log, behind("2025-02-12T10:00:00Z [1,0]<stdout>:", log)}) {
        std::size_t read = 0;
        for (std::size_t end = 0; end <= text.size(); ++end) {
            try {
                read += parse_nccl_tests(std::string_view(text).substr(0, end), "log.txt").size();
            } catch (const InputError&) {  // the only way to refuse
            }
            try {
                parse_nccl_tests(std::string_view(text).substr(end), "log.txt");
            } catch (const InputError&) {
            }
        }
        CHECK(read > 0);
    }
}
