// workload_test.cpp — traces and layers of others, played on their networks: closed forms, what
// ASTRA-sim itself says, and what is refused where.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "base/read_file.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "sim/cluster/fabric.hpp"
#include "tests/scenarios/workload/play_workload_bytes.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;
const fs::path workload_corpus = fs::path(UKEMI_SOURCE_DIR) / "tests/scenarios/workload/corpus";

sim::StepRecord step_of(const sim::Topology& topology, sim::Workload workload,
                        const std::vector<kernels::GridAxis>& axes = {}) {
    sim::StepJob job;
    job.name = "job";
    job.workers = topology.workers();
    job.compute.resize(job.workers.size());
    job.launch.overhead = {};
    job.axes = axes;
    job.workload = std::make_shared<const sim::Workload>(std::move(workload));
    return sim::run_steps(topology, std::span(&job, 1), {}, {}).front().steps.at(0);
}

sim::Workload one_sum(std::int32_t ranks, std::int64_t size) {
    scenarios::ChakraNode node;
    node.type = scenarios::ChakraType::collective;
    node.bytes = size;
    const std::vector<scenarios::RankTrace> traces = {{"test", {node}}};
    return scenarios::chakra_workload(traces, ranks, {}, {});
}

sim::AstraNetwork network(const char* block, int npus, double gigabytes, double latency_ns) {
    return sim::parse_astra_network(
        fmt::format("topology: [ {} ]\nnpus_count: [ {} ]\nbandwidth: [ {} ]\nlatency: [ {} ]\n",
                    block, npus, gigabytes, latency_ns),
        "network.yml", "");
}

std::string complaint(const std::function<void()>& reads) {
    try {
        reads();
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

double length_s(const sim::StepRecord& step) { return to_seconds(step.end - step.begin); }

}  // namespace

TEST_CASE("workload: what the fuzzer begins with is read and played, whole only", "[workload]") {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(workload_corpus)) {
        CAPTURE(entry.path().string());
        const std::string text = read_file(entry.path());
        CHECK(play_workload_bytes(text));
        CHECK_FALSE(play_workload_bytes(text.substr(0, text.size() / 2)));
        ++count;
    }
    CHECK(count >= 9);
}

TEST_CASE("workload: an all-reduce on ASTRA-sim's networks takes what its formula says",
          "[workload]") {
    constexpr double gigabyte = 1 << 30;
    for (const int npus : {2, 3, 8}) {
        const double size = 8e6 * npus;
        const auto ring = network("Ring", npus, 50, 500);
        const auto all = network("FullyConnected", npus, 50, 500);
        const auto plane = network("Switch", npus, 50, 500);
        const auto sum = one_sum(npus, static_cast<std::int64_t>(size));
        const double rounds = 2.0 * (npus - 1);
        const double part_s = size / npus / (50 * gigabyte);
        CAPTURE(npus);
        CHECK(length_s(step_of(ring.topology, sum)) == Approx(rounds * (part_s + 500e-9)));
        CHECK(length_s(step_of(plane.topology, sum)) == Approx(rounds * (part_s + 1000e-9)));
        const std::vector<kernels::GridAxis> direct = {{npus, 1, kernels::AxisExchange::direct}};
        CHECK(length_s(step_of(all.topology, sum, direct)) == Approx(2 * (part_s + 500e-9)));
        CHECK(length_s(step_of(plane.topology, sum, direct)) ==
              Approx(2 * ((npus - 1) * part_s + 1000e-9)));
    }
}

TEST_CASE("workload: an all-to-all goes over all links at once", "[workload]") {
    constexpr double gigabyte = 1 << 30;
    for (const int npus : {2, 3, 8}) {
        sim::Workload exchange = one_sum(npus, 8'000'000 * npus);
        exchange.programs.front().front().exchange = sim::ExchangeKind::all_to_all;
        const auto all = network("FullyConnected", npus, 50, 500);
        const auto plane = network("Switch", npus, 50, 500);
        const double part_s = 8e6 / (50 * gigabyte);
        CAPTURE(npus);
        CHECK(length_s(step_of(all.topology, exchange)) == Approx(part_s + 500e-9));
        CHECK(length_s(step_of(plane.topology, exchange)) == Approx((npus - 1) * part_s + 1000e-9));
    }
}

TEST_CASE("workload: ASTRA-sim's own times of the same all-reduce", "[workload]") {
    // Recorded from its analytical backends (commit 2a2979a): 100 MiB in a ring, links of 12.5e9
    // bytes/s (11.64 of its GB/s) and 2 us a hop; through a switch 1 us before and after it, of the
    // backend that does not store and forward. It adds some ns a message.
    struct Recorded {
        const char* block;
        int npus;
        double latency_ns;
        double seconds;
    };
    for (const Recorded& one :
         {Recorded{"Ring", 8, 2000, 0.01471083}, Recorded{"Ring", 64, 2000, 0.016770223},
          Recorded{"Ring", 256, 2000, 0.017735251}, Recorded{"Switch", 8, 1000, 0.01471083},
          Recorded{"Switch", 64, 1000, 0.016770223}}) {
        CAPTURE(one.block, one.npus);
        const auto there = network(one.block, one.npus, 12.5e9 / (1 << 30), one.latency_ns);
        const double ours = length_s(step_of(there.topology, one_sum(one.npus, 104'857'600)));
        CHECK(ours == Approx(one.seconds).epsilon(3e-4));
    }
}

TEST_CASE("workload: a barrier and a message of nothing take their latencies", "[workload]") {
    using scenarios::ChakraType;
    const auto ring = network("Ring", 4, 50, 500);
    scenarios::ChakraNode node;
    node.type = ChakraType::collective;
    node.collective = scenarios::ChakraCollective::barrier;
    const std::vector<scenarios::RankTrace> barrier = {{"test", {node}}};
    CHECK(length_s(step_of(ring.topology, scenarios::chakra_workload(barrier, 4, {}, {}))) ==
          Approx(6 * 500e-9).epsilon(0.01));
    scenarios::ChakraNode send;
    send.type = ChakraType::send;
    send.to = 1;
    scenarios::ChakraNode receive;
    receive.type = ChakraType::receive;
    const std::vector<scenarios::RankTrace> pair = {{"0", {send}}, {"1", {receive}}};
    const auto two = network("Ring", 2, 50, 500);
    CHECK(length_s(step_of(two.topology, scenarios::chakra_workload(pair, 2, {}, {}))) ==
          Approx(500e-9).epsilon(0.01));
}

TEST_CASE("workload: layers go forward, wait, and come back", "[workload]") {
    // Two ranks, one tensor group of both: each pass waits for its sum; the weights' are of groups
    // of one. Forward 1 + 2 ms, back 4 + 8 + 16 + 32 ms, sums of inputs and outputs 8 MB each.
    const char* text =
        "HYBRID_TRANSFORMER model_parallel_NPU_group: 2\n2\n"
        "a -1 1000000 ALLREDUCE 8000000 4000000 NONE 0 16000000 ALLREDUCE 1000 0\n"
        "b -1 2000000 ALLREDUCE 8000000 8000000 ALLREDUCE 8000000 32000000 NONE 0 0\n";
    const auto ring = network("Ring", 2, 50, 500);
    const double sum_s = 2 * (4e6 / (50.0 * (1 << 30)) + 500e-9);
    const auto step = step_of(ring.topology, scenarios::parse_layer_workload(text, "w.txt", 2));
    CHECK(length_s(step) == Approx(0.063 + 3 * sum_s));
    CHECK(to_seconds(step.parts.compute) == Approx(0.063));
    CHECK(to_seconds(step.parts.sending) == Approx(3 * sum_s));
    // In DATA the weights' sums are of all; only the first layer's, the last to come, is waited
    // for.
    const char* data =
        "DATA\n2\na -1 1000000 NONE 0 1000000 NONE 0 1000000 ALLREDUCE 8000000 0 "
        "b -1 1000000 NONE 0 1000000 NONE 0 1000000 ALLREDUCE 8000000 0";
    const auto hidden = step_of(ring.topology, scenarios::parse_layer_workload(data, "w.txt", 2));
    CHECK(length_s(hidden) == Approx(0.005 + sum_s));  // no gradient of the first layer's input
}

TEST_CASE("workload: data-parallel layers send before they go on to gradients of inputs",
          "[workload]") {
    // Forward 1 ms, back 2 ms of inputs and 3 ms of weights, whose sum takes 12 ms at 10 Gbit/s:
    // 6 quarters of 10 MB.
    sim::FabricSpec fabric;
    fabric.latency = Duration{};
    const sim::Topology cluster = sim::build_cluster("p3.2xlarge", 4, fabric);
    const std::string layer = " -1 1000000 NONE 0 2000000 NONE 0 3000000 ALLREDUCE 10000000 0\n";
    const auto length = [&](const std::string& text) {
        return length_s(step_of(cluster, scenarios::parse_layer_workload(text, "w.txt", 4)));
    };
    CHECK(length("DATA\n1\na" + layer) == Approx(0.016).epsilon(1e-3));
    // The second sum follows the first, which begins after 2 + 3 ms: before 2 ms of inputs.
    CHECK(length("DATA\n2\na" + layer + "b" + layer) == Approx(0.029).epsilon(1e-3));
}

TEST_CASE("workload: each kind of loop sends among the ranks that it means", "[workload]") {
    // All passes take 1 ms; sums of 8 MB, of all ranks and of pairs of neighbours. A ring of two
    // has one cable, and so has each pair in a grid of such rings.
    const auto ring = network("Ring", 2, 50, 500);
    const auto square = sim::parse_astra_network(
        "topology: [ Ring, Ring ]\nnpus_count: [ 2, 2 ]\nbandwidth: [ 50, 25 ]\n"
        "latency: [ 500, 500 ]\n",
        "network.yml", "");
    const double fast_s = 2 * (4e6 / (50.0 * (1 << 30)) + 500e-9);
    const double slow_s = 2 * (4e6 / (25.0 * (1 << 30)) + 500e-9);
    const auto length = [&](const sim::AstraNetwork& there, int ranks, const std::string& text,
                            std::int64_t first_dimension) {
        return length_s(step_of(there.topology, scenarios::parse_layer_workload(
                                                    text, "w.txt", ranks, first_dimension)));
    };
    const auto passes = [](const char* inputs, const char* weights) {
        const auto layer = [&](const char* name) {
            return fmt::format(
                "{0} -1 1000000 {1} 8000000 1000000 {1} 8000000 1000000 {2} 8000000 "
                "0\n",
                name, inputs, weights);
        };
        return "\n2\n" + layer("a") + layer("b");
    };
    // Forward both, back the second layer's alone, beside its gradient of weights.
    CHECK(length(ring, 2, "MODEL" + passes("ALLREDUCE", "NONE"), 0) == Approx(0.006 + 2 * fast_s));
    CHECK(length(ring, 2,
                 "MODEL\n2\na -1 1000000 NONE 0 1000000 NONE 0 0 NONE 0 0\n"
                 "b -1 1000000 NONE 0 1000000 ALLREDUCE 8000000 0 NONE 0 0\n",
                 0) == Approx(0.004 + fast_s));
    const std::string inputs = passes("ALLREDUCE", "NONE");
    CHECK(length(square, 4, "HYBRID_DATA_MODEL" + inputs, 2) == Approx(0.006 + 2 * fast_s));
    CHECK(length(square, 4, "HYBRID_MODEL_DATA" + inputs, 2) == Approx(0.006 + 2 * slow_s));
    const std::string weights = passes("NONE", "ALLREDUCE");
    CHECK(length(square, 4, "HYBRID_DATA_MODEL" + weights, 2) == Approx(0.006 + slow_s));
    CHECK(length(square, 4, "HYBRID_MODEL_DATA" + weights, 2) == Approx(0.006 + fast_s));
    // As the first line says it, in whatever order.
    const std::string groups = "HYBRID_TRANSFORMER ep: 2 model_parallel_NPU_group: 2";
    CHECK(length(square, 4, groups + weights, 0) == Approx(0.006 + slow_s));
    // Of this, collectives are all.
    CHECK(length(ring, 2, "MICRO" + weights, 0) == Approx(2 * fast_s));
}

TEST_CASE("workload: layers go forward again from a checkpoint, as what they send does",
          "[workload]") {
    // Of five layers, forward 1, 2, 4, 8 and 16 ms, and a sum each; nothing back.
    const auto ring = network("Ring", 2, 50, 500);
    const double sum_s = 2 * (4e6 / (50.0 * (1 << 30)) + 500e-9);
    std::string layers = "\n5\n";
    for (const int time : {1, 2, 4, 8, 16}) {
        layers += fmt::format("l -1 {}000000 ALLREDUCE 8000000 0 NONE 0 0 NONE 0 0\n", time);
    }
    const std::string loop = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2";
    const auto length = [&](const std::string& line) {
        return length_s(
            step_of(ring.topology, scenarios::parse_layer_workload(loop + line + layers, "w", 2)));
    };
    CHECK(length(" checkpoints: 0 checkpoint_initiates: 0") == Approx(0.031 + 5 * sum_s));
    CHECK(length(" checkpoints: 1 1 checkpoint_initiates: 1 3") == Approx(0.037 + 7 * sum_s));
    CHECK(length(" checkpoint_initiates: 2 4 2 checkpoints: 3 0 3 1") ==
          Approx(0.031 + 0.002 + 0.008 + 7 * sum_s));
    const auto refusal = [&](const std::string& line) { return complaint([&] { length(line); }); };
    const std::string lost =
        "expected a layer behind a checkpoint, with no other that initiates between them, found ";
    CHECK(refusal(" checkpoint_initiates: 1 3") == "w:1:85: " + lost + "\"3\"");
    CHECK(refusal(" checkpoints: 1 3 checkpoint_initiates: 1 3") == "w:1:102: " + lost + "\"3\"");
    CHECK(refusal(" checkpoints: 1 0 checkpoint_initiates: 2 3 2") == "w:1:102: " + lost + "\"3\"");
    CHECK(refusal(" checkpoints: 1 5") == "w:1:76: expected one of layers 0 to 4, found \"5\"");
    CHECK(refusal(" checkpoints: 2 1 ep: 1") ==
          "w:1:78: expected 2 layers by number in checkpoints:, found \"ep:\"");
    CHECK_THAT(refusal(" checkpoints: 1 0 3"),
               Catch::EndsWith("or the end of the line, found \"3\""));
    CHECK_THAT(refusal(" foo: 3"),
               Catch::StartsWith("w:1:61: expected model_parallel_NPU_group:, checkpoints:, ") &&
                   Catch::EndsWith("or the end of the line, found \"foo:\""));
    CHECK(complaint(
              [&] { scenarios::parse_layer_workload("DATA checkpoints: 1 0" + layers, "w", 2); }) ==
          "w:1:6: expected checkpoints: 0, since DATA runs nothing forward again, found "
          "\"1\"");
}

TEST_CASE("workload: an all-gather's bytes are what each rank brings, of SimAI what it ends with",
          "[workload]") {
    const auto ring = network("Ring", 4, 50, 500);
    const auto length = [&](const std::string& line, const char* kind) {
        const std::string text =
            line + fmt::format("\n1\na -1 0 {} 8000000 0 NONE 0 0 NONE 0 0\n", kind);
        return length_s(step_of(ring.topology, scenarios::parse_layer_workload(text, "w.txt", 4)));
    };
    const double part_s = 2e6 / (50.0 * (1 << 30));
    const std::string groups = "HYBRID_TRANSFORMER model_parallel_NPU_group: 4";
    for (const std::string& line : {std::string("MODEL"), groups}) {
        CHECK(length(line, "ALLGATHER") == Approx(3 * (4 * part_s + 500e-9)));
        CHECK(length(line, "REDUCESCATTER") == Approx(3 * (part_s + 500e-9)));
    }
    CHECK(length(groups + " pp: 1", "ALLGATHER") == Approx(3 * (part_s + 500e-9)));
    CHECK(length(groups + " pp_comm 0", "REDUCESCATTER") == Approx(3 * (part_s + 500e-9)));
}

TEST_CASE("workload: sends meet their receives, and ranks that wait for each other are told",
          "[workload]") {
    using scenarios::ChakraType;
    scenarios::ChakraNode first;
    first.id = 1;
    first.type = ChakraType::compute;
    first.duration_us = 1000;
    scenarios::ChakraNode send;
    send.id = 2;
    send.after = {1};
    send.type = ChakraType::send;
    send.to = 1;
    send.bytes = 5'000'000;
    scenarios::ChakraNode receive;
    receive.type = ChakraType::receive;
    std::vector<scenarios::RankTrace> traces = {{"0.et", {first, send}}, {"1.et", {receive}}};
    const auto ring = network("Ring", 2, 50, 500);
    const auto step = step_of(ring.topology, scenarios::chakra_workload(traces, 2, {}, {}));
    CHECK(length_s(step) == Approx(1e-3 + 5e6 / (50.0 * (1 << 30)) + 500e-9));
    CHECK(to_seconds(step.parts.compute) == Approx(0.5e-3));
    // Both wait for the other's message before they send their own.
    traces[0].nodes = {receive, send};
    traces[0].nodes[0].from = 1;
    traces[0].nodes[1].after = {0};
    traces[1].nodes = {receive, send};
    traces[1].nodes[1].to = 0;
    traces[1].nodes[1].after = {0};
    CHECK(
        complaint([&] { step_of(ring.topology, scenarios::chakra_workload(traces, 2, {}, {})); }) ==
        "job job: rank 0 waits for ever: 2 of its 2 nodes wait for each other, or for ranks "
        "that do not come");
}

TEST_CASE("workload: a receive is of the send of its turn, though a later one is there before it",
          "[workload]") {
    constexpr std::int64_t large = 100 << 20;
    constexpr std::int64_t small = 1024;
    // Two messages at once; who has the first one computes for 20 ms.
    const auto taken_s = [](std::int64_t first, std::int64_t second, std::int64_t second_tag) {
        std::vector<scenarios::RankTrace> traces = {{"0.et", {}}, {"1.et", {}}};
        for (std::uint64_t id = 0; id < 2; ++id) {
            scenarios::ChakraNode node;
            node.id = id;
            node.to = 1;
            node.tag = id == 0 ? 5 : second_tag;
            node.bytes = id == 0 ? first : second;
            node.type = scenarios::ChakraType::send;
            traces[0].nodes.push_back(node);
            node.type = scenarios::ChakraType::receive;
            traces[1].nodes.push_back(node);
        }
        scenarios::ChakraNode computes;
        computes.id = 2;
        computes.type = scenarios::ChakraType::compute;
        computes.duration_us = 20'000;
        computes.after = {0};
        traces[1].nodes.push_back(computes);
        return length_s(step_of(network("Ring", 2, 10, 500).topology,
                                scenarios::chakra_workload(traces, 2, {}, {})));
    };
    const double large_s = large / (10.0 * (1 << 30));
    CHECK(taken_s(large, small, 5) == Approx(large_s + 20e-3).epsilon(1e-3));
    CHECK(taken_s(large, small, 5) == taken_s(large, small, 6));
    CHECK(taken_s(small, large, 5) == Approx(20e-3).epsilon(1e-3));
    CHECK(taken_s(small, large, 5) == taken_s(small, large, 6));
}

TEST_CASE("workload: what is sent is received, as as many bytes", "[workload]") {
    using scenarios::ChakraType;
    const auto message = [](ChakraType type, std::uint64_t id, std::int64_t size) {
        scenarios::ChakraNode node;
        node.id = id;
        node.type = type;
        node.to = 1;
        node.bytes = size;
        return node;
    };
    const auto refusal = [](std::vector<scenarios::ChakraNode> of_0,
                            std::vector<scenarios::ChakraNode> of_1) {
        const std::vector<scenarios::RankTrace> traces = {{"0.et", std::move(of_0)},
                                                          {"1.et", std::move(of_1)}};
        return complaint([&] { scenarios::chakra_workload(traces, 2, {}, {}); });
    };
    const auto send = [&](std::uint64_t id, std::int64_t size) {
        return message(ChakraType::send, id, size);
    };
    const auto receive = [&](std::uint64_t id, std::int64_t size) {
        return message(ChakraType::receive, id, size);
    };
    CHECK(refusal({send(3, 8), send(4, 16)}, {receive(7, 16), receive(8, 0)}).empty());
    CHECK(refusal({send(3, 8)}, {}) ==
          "0.et: node 3 (\"\") of rank 0 sends to rank 1 with the tag 0: expected a COMM_RECV node "
          "there for each, found 0");
    CHECK(refusal({send(3, 8)}, {receive(7, 8), receive(8, 8)}) ==
          "1.et: node 8 (\"\") of rank 1 receives from rank 0 with the tag 0: expected a COMM_SEND "
          "node there for each, found 1");
    CHECK(refusal({send(3, 8)}, {receive(7, 9)}) ==
          "1.et: node 7 (\"\") of rank 1 receives 9 bytes from rank 0 with the tag 0: expected 8, "
          "as many as it sends");
}

TEST_CASE("workload: what is wrong is named with its place", "[workload]") {
    const auto layers = [](const char* text) {
        return complaint([&] { scenarios::parse_layer_workload(text, "w.txt", 4); });
    };
    CHECK(layers("DATA\n1\na -1 5 NONE 0 5 SUM 0") ==
          "w.txt:3:17: expected NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, also with "
          "_EP or _DP_EP, found \"SUM\"");
    CHECK(layers("MICRO\n2\na -1 5 NONE 0 5 NONE 0 5 NONE 0 1\n") ==
          "w.txt:4:1: expected layer 2 of 2, found the end");
    CHECK(layers("HYBRID_TRANSFORMER model_parallel_NPU_group: 3\n") ==
          "w.txt:1:20: expected model_parallel_NPU_group: to divide 4 ranks, found \"3\"");
    CHECK(layers("HYBRID_TRANSFORMER all_gpus: 8\n") ==
          "w.txt:1:20: expected as many ranks as the job has workers, 4, found \"8\"");
    for (const char* line : {"HYBRID_TRANSFORMER ep: 2 model_parallel_NPU_group: 4\n",
                             "HYBRID_TRANSFORMER ep: 4 model_parallel_NPU_group: 4\n"}) {
        CHECK_THAT(layers(line),
                   Catch::StartsWith("w.txt:1:20: expected ep: to divide 1 replicas (4 ranks by "
                                     "tensor groups of 4), found "));
    }
    CHECK(layers("HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 4\n") ==
          "w.txt:1:48: expected ep: to divide 2 replicas (4 ranks by tensor groups of 2), found "
          "\"4\"");
    CHECK(layers("HYBRID_TRANSFORMER pp: 1\n1\n") ==
          "w.txt:1:25: expected model_parallel_NPU_group: of HYBRID_TRANSFORMER, found the end");
    CHECK(layers("HYBRID_DATA_MODEL\n1\n") ==
          "w.txt:1:18: expected model_parallel_NPU_group: of HYBRID_DATA_MODEL, or a network of "
          "ASTRA-sim's, whose first dimension says it, found the end");
    CHECK(layers("DATA\n1\na -1 5 ALLREDUCE 8 5 NONE 0 5 NONE 0 0\n") ==
          "w.txt:3:8: expected NONE: in DATA gradients of weights are all that is sent, found "
          "\"ALLREDUCE\"");
    CHECK(layers("MODEL\n1\na -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 8 0\n") ==
          "w.txt:3:26: expected NONE: in MODEL gradients of weights are not sent, found "
          "\"ALLREDUCE\"");
    CHECK(
        layers("HYBRID_TRANSFORMER model_parallel_NPU_group: 2 model_parallel_NPU_group: 4\n1\n") ==
        "w.txt:1:48: expected model_parallel_NPU_group: once in the line, found "
        "\"model_parallel_NPU_group:\"");
    const auto trace = [](std::string_view bytes) {
        return complaint([&] { scenarios::parse_chakra(bytes, "t.et"); });
    };
    CHECK(trace("") == "t.et: expected a Chakra trace, found nothing");
    CHECK(trace(std::string_view("\x02\x0a\x00\x05\x08", 5)) ==
          "t.et: byte 4: expected 5 bytes more, found 1");
    CHECK(trace(std::string_view("\x00\x02\x08\x80", 4)) ==
          "t.et: byte 4: expected 1 bytes more, found 0");
    CHECK(trace(std::string_view("\x00\x01\x0b", 3)) ==
          "t.et: byte 2: expected a field (wire type 0, 1, 2 or 5), found type 3");
    CHECK(trace(R"([{"id": -4, "type": 4}])") ==
          "t.et: object 1: id: expected a whole number from 0 on, found -4");
    CHECK(trace(R"([{"id": 4, "type": 4, "durationMicros": 1000.5}])") ==
          "t.et: object 1: duration_micros: expected a whole number from 0 on, found 1000.5");
    CHECK(trace(R"([{"id": 4, "type": 4, "durationMicros": 1e300}])") ==
          "t.et: object 1: duration_micros: expected a whole number from 0 on, found 1e+300");
    CHECK(trace(R"({"name": "a scenario"})") == "t.et: object 1: expected a node with \"id\"");
    CHECK(trace(R"({"id": 1, "type": "COMPNODE", "duration_micros": 5})") ==
          "t.et: object 1: type: \"COMPNODE\" is none of Chakra's (did you mean \"COMP_NODE\"?)");
    CHECK(trace(R"({"id": 1, "type": 7, "name": "sum"})") ==
          "t.et: node 1 (\"sum\") is a collective: expected its comm_type");
    CHECK(trace(R"({"id": 1, "type": 7, "name": "sum",
                    "attr": [{"name": "comm_type", "int64_val": 0}]})") ==
          "t.et: node 1 (\"sum\") is a collective: expected its comm_size");
    CHECK(trace(R"({"id": 1, "type": 7, "name": "all",
                    "attr": [{"name": "comm_type", "string_val": "BARRIER"}]})")
              .empty());
    CHECK(trace(R"({"id": 2, "type": 5, "name": "on", "attr": []})") ==
          "t.et: node 2 (\"on\") is a message: expected its comm_size");
}

TEST_CASE("workload: what is wrong with a network or a system is named with its place",
          "[workload]") {
    const auto net = [](const char* text) {
        return complaint([&] { sim::parse_astra_network(text, "n.yml", ""); });
    };
    CHECK(net("topology: [ Ring ]\nnpus_count: [ 8, 2 ]\n") ==
          "n.yml: npus_count: expected 1, one a dimension, found 2");
    CHECK(net("topology: [ Mesh ]\nnpus_count: [ 8 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n") ==
          "n.yml:1:13: expected Ring, FullyConnected or Switch, found \"Mesh\"");
    CHECK_THAT(net("topology: [ Ring ]\nnpus_count: [ 4097 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n"),
               Catch::StartsWith("n.yml:2:15: expected a number from 1 to 4096 NPUs in a dimension "
                                 "that is Ring, found "));
    const std::vector<std::int32_t> sizes = {6};
    CHECK(complaint([&] {
              scenarios::parse_astra_system(R"({"all-reduce-implementation": ["halvingDoubling"]})",
                                            "s.json", sizes);
          }) ==
          "s.json: at /all-reduce-implementation: expected a power of two NPUs in a "
          "dimension of halvingDoubling, found 6");
}

TEST_CASE("workload: a JSON trace is read whole or refused where it ends", "[workload]") {
    const auto trace = [](std::string_view text) {
        return complaint([&] { scenarios::parse_chakra(text, "t.json"); });
    };
    const std::string one = R"({"id":1,"type":4,"duration_micros":5})";
    for (const std::string& whole :
         {"[" + one + "]", "[" + one + ",\n" + one + "]\n", one + "\n" + one, std::string("[]")}) {
        CHECK(trace(whole).empty());
    }
    for (const char* other : {"not json at all\n", "[1, 2]", "id,type\n1,4\n"}) {
        CHECK(trace(other) == "t.json: expected a Chakra trace, as objects of JSON or as messages");
    }
    const std::string end = "found the end of the file";
    CHECK(trace("[" + one + ",") == "t.json:1:40: expected an object of a Chakra trace, " + end);
    CHECK(trace("[" + one) == "t.json:1:39: expected a comma or the list's end, " + end);
    CHECK(trace("[" + one + "\n" + one + "]") ==
          "t.json:2:1: expected a comma or the list's end, found \"{\"id\":1,\"type\":4,\"du\"");
    CHECK(trace("[" + one + "]\n]") == "t.json:2:1: expected the end after the list, found \"]\"");
    CHECK(trace("[" + one + ",]") ==
          "t.json:1:40: expected an object of a Chakra trace, found \"]\"");
    CHECK_THAT(trace(one + "\n" + one + "\n  {\"id\" 3}"), Catch::StartsWith("t.json:3:9: "));
    CHECK_THAT(trace("[" + one + ",\n" + one.substr(0, 20)), Catch::StartsWith("t.json:2:2"));
}

TEST_CASE("workload: text of no kind is complained of as text", "[workload]") {
    const auto layers = [](std::string_view text) {
        CHECK(scenarios::is_layer_workload(text));
        return complaint([&] { scenarios::parse_layer_workload(text, "w.txt", 8); });
    };
    CHECK_THAT(layers("# layers\nDATA\n"), Catch::StartsWith("w.txt:1:1: expected one of DATA, "));
    CHECK_THAT(layers("DATTA\n1\n"), Catch::EndsWith(", found \"DATTA\""));
    CHECK(layers("\n\nDATA\n1\na -1 5 NONE 0 5 NONE 0 5 NONE 0 0\n").empty());
    for (const char* file : {"all_reduce.et", "step.et", "trace.json", "list.json"}) {
        CHECK_FALSE(scenarios::is_layer_workload(read_file(workload_corpus / file)));
    }
}

TEST_CASE("workload: what is neither computed nor sent lasts as long as it says", "[workload]") {
    const auto step_s = [](const char* microseconds) {
        const std::string text =
            fmt::format(R"([{{"id": 1, "type": 2, "duration_micros": {}}}])", microseconds);
        const std::vector<scenarios::RankTrace> traces = {
            {"t.json", scenarios::parse_chakra(text, "t.json")}};
        return length_s(step_of(network("Ring", 2, 50, 500).topology,
                                scenarios::chakra_workload(traces, 2, {}, {})));
    };
    CHECK(step_s("5000000000") == Approx(5000));
    CHECK(step_s("5000000000.0") == Approx(5000));
    CHECK(step_s("5e9") == Approx(5000));
    CHECK(complaint([&] { step_s("1000000000001"); }) ==
          "t.json: node 1 (\"\") lasts 1000000000001 us: expected at most 1000000000000");
}

TEST_CASE("workload: a scenario names its files, and says what was played", "[workload]") {
    const fs::path file =
        fs::path(UKEMI_SOURCE_DIR) / "scenarios" / "steps" / "astra_sim_h100.json";
    const scenarios::StepScenario scenario = scenarios::read_step_scenario(file);
    const sim::StepJob& job = scenario.jobs.front().job;
    REQUIRE(job.workload != nullptr);
    CHECK(job.workers.size() == 8);
    CHECK(job.axes.size() == 1);
    CHECK(scenario.cluster == "8 NPUs");
    const auto result = sim::run_steps(scenario.topology, std::span(&job, 1), {}, {}).front();
    // 14 rounds of 128 KiB at 400 GiB/s through two links of 936.25 ns, of which we count whole
    // nanoseconds, and 1 ns for the collective.
    const double formula = 14 * (131072.0 / (400.0 * (1 << 30)) + 2 * 936.25e-9) + 1e-9;
    CHECK(length_s(result.steps.at(0)) == Approx(formula).epsilon(5e-4));
    const std::vector<ConfigOverride> wrong = {{"/job/workload", "nowhere", "--set"}};
    CHECK_THAT(complaint([&] { scenarios::read_step_scenario(file, wrong); }),
               Catch::Contains("at /job/workload: expected a file, or ") &&
                   Catch::Contains("nowhere.0.et"));
    const std::vector<ConfigOverride> alone = {{"/job/workers", "1", "--set"}};
    CHECK_THAT(complaint([&] { scenarios::read_step_scenario(file, alone); }),
               Catch::EndsWith("at /job/workload: expected a workload that takes time: one worker "
                               "has nobody to send to"));
    // Of machines, a launch takes what it does in other jobs.
    const auto overhead = [&](std::vector<ConfigOverride> overrides) {
        return scenarios::read_step_scenario(file, overrides).jobs.front().job.launch.overhead;
    };
    CHECK(job.launch.overhead == nanoseconds(1));  // of the system file
    CHECK(overhead({{"/job/launch", R"({"overhead": "3 us"})", "--set"}}) == nanoseconds(3000));
    const auto on = [&](const char* machine) {
        const std::string of_machine = fmt::format(
            R"({{"name": "w", "seed": 1, "cluster": {{"machine": "{}", "count": 2}},
                 "job": {{"workload": "../astra_sim/all_reduce.et"}}}})",
            machine);
        return scenarios::step_scenario_from_text(of_machine, file)
            .jobs.front()
            .job.launch.overhead;
    };
    CHECK(on("p3.2xlarge") == nanoseconds(8400));
    CHECK(on("dgx_h100") == Duration{});  // NCCL's times begin with their own
    const std::vector<ConfigOverride> searched = {{"/job/collective", "dimension_search", "--set"}};
    CHECK_FALSE(scenarios::read_step_scenario(file, searched).jobs.front().why.empty());
}

}  // namespace ukemi
