// profiler_trace_test.cpp — traces of PyTorch's profiler, of a processor and of a device.
#include "scenarios/reader/profiler_trace.hpp"

#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>

#include "base/input_error.hpp"
#include "base/read_file.hpp"
#include "scenarios/reader/step_scenario.hpp"

namespace ukemi {
namespace {

using scenarios::parse_profiler_trace;
using scenarios::ProfiledStep;

std::string event(const std::string& name, double at_us, double length_us, const char* kind,
                  const std::string& args = "{}") {
    return fmt::format(
        R"({{"ph": "X", "cat": "{}", "name": "{}", "ts": {}, "dur": {}, "args": {}}},)", kind, name,
        at_us, length_us, args);
}

std::string gradient(double end_us, const char* sizes) {
    return event("torch::autograd::AccumulateGrad", end_us - 1, 1, "cpu_op",
                 fmt::format(R"({{"Input Dims": [{}]}})", sizes));
}

std::string backward(double at_us) {
    return event("autograd::engine::evaluate_function: MmBackward0", at_us, 1, "cpu_op");
}

std::string trace_of(std::string events) {
    events.pop_back();  // the last comma
    return fmt::format(R"({{"traceEvents": [{}]}})", events);
}

// A launch by the host and what the device does for it.
std::string kernel(int id, double launched_us, double begin_us, double length_us) {
    const std::string args = fmt::format(R"({{"correlation": {}}})", id);
    return event("cudaLaunchKernel", launched_us, 1, "cuda_runtime", args) +
           event("gemm", begin_us, length_us, "kernel", args);
}

std::string of_a_processor(double scale) {
    return event("ProfilerStep#1", 0, 100 * scale, "user_annotation") + backward(30 * scale) +
           gradient(50 * scale, "[10, 4]") + gradient(80 * scale, "[10]");
}

}  // namespace

TEST_CASE("profiler trace: a step of a processor", "[scenario][profiler]") {
    const ProfiledStep step = parse_profiler_trace(trace_of(of_a_processor(1)), "t.json");
    CHECK(step.steps == 1);
    CHECK(step.seconds == Approx(100e-6));
    CHECK(step.backward_share == Approx(0.5));  // 30 to 80 of 100
    REQUIRE(step.gradients.size() == 2);
    CHECK(step.gradients[0].elements == 40);
    CHECK(step.gradients[0].ready == Approx(0.4));
    CHECK(step.gradients[1].elements == 10);
    CHECK(step.gradients[1].ready == Approx(1.0));
}

TEST_CASE("profiler trace: medians over steps, and a trace without them", "[scenario][profiler]") {
    const auto shifted = [](double by) {
        return event("ProfilerStep#2", by, 100, "user_annotation") + backward(by + 40) +
               gradient(by + 50, "[10, 4]") + gradient(by + 80, "[10]");
    };
    const auto three =
        parse_profiler_trace(trace_of(of_a_processor(1) + shifted(1000) + shifted(2000)), "t.json");
    CHECK(three.steps == 3);
    CHECK(three.backward_share == Approx(0.4));
    CHECK(three.gradients[0].ready == Approx(0.25));
    const auto alone = parse_profiler_trace(
        trace_of(event("aten::mm", 0, 10, "cpu_op") + backward(30) + gradient(90, "[3]")),
        "t.json");
    CHECK(alone.seconds == Approx(90e-6));
    CHECK(alone.gradients[0].elements == 3);
}

TEST_CASE("profiler trace: on a device it is ready when what was launched is done",
          "[scenario][profiler]") {
    // The host is through after 20 us; forward 10 to 40, then 60 and 90, then the update.
    const auto step = [](int id, double by) {
        return event("ProfilerStep#1", by, 20, "user_annotation") +
               event("ProfilerStep#1", by + 10, 90, "gpu_user_annotation") +
               kernel(id, by + 1, by + 10, 30) + backward(by + 5) +
               kernel(id + 1, by + 6, by + 40, 20) + gradient(by + 8, "[8]") +
               kernel(id + 2, by + 9, by + 60, 30) + gradient(by + 11, "[2, 8]") +
               kernel(id + 3, by + 12, by + 90, 10);
    };
    const auto one = parse_profiler_trace(trace_of(step(1, 0)), "t.json");
    CHECK(one.seconds == Approx(90e-6));             // from the first kernel on
    CHECK(one.backward_share == Approx(50.0 / 90));  // 40 to 90
    CHECK(one.gradients[0].ready == Approx(0.4));
    CHECK(one.gradients[1].ready == Approx(1.0));
    // The second begins on the device when the first is through.
    const auto two = parse_profiler_trace(trace_of(step(1, 0) + step(5, 100)), "t.json");
    CHECK(two.steps == 2);
    CHECK(two.seconds == Approx((90e-6 + 100e-6) / 2));
}

TEST_CASE("profiler trace: a graph's kernels are done with the last, and begin with the first",
          "[scenario][profiler]") {
    const auto of_graph = [](int id, double begin, double length) {
        return event("gemm", begin, length, "kernel", fmt::format(R"({{"correlation": {}}})", id));
    };
    // The forward pass is a graph of three kernels from 10 to 40, whichever is written last.
    const auto step = [&](int id, double by, std::array<double, 3> begins) {
        std::string text = event("ProfilerStep#1", by, 20, "user_annotation") +
                           event("cudaGraphLaunch", by + 1, 1, "cuda_runtime",
                                 fmt::format(R"({{"correlation": {}}})", id));
        for (const double begin : begins) text += of_graph(id, by + begin, 10);
        return text + backward(by + 5) + kernel(id + 1, by + 6, by + 40, 20) +
               gradient(by + 8, "[8]") + kernel(id + 2, by + 9, by + 60, 40) +
               gradient(by + 11, "[2, 8]");
    };
    for (const auto& begins : {std::array{10.0, 20.0, 30.0}, std::array{30.0, 20.0, 10.0},
                               std::array{10.0, 30.0, 20.0}}) {
        const auto one = parse_profiler_trace(trace_of(step(1, 0, begins)), "t.json");
        CHECK(one.seconds == Approx(90e-6));
        CHECK(one.backward_share == Approx(60.0 / 90));  // 40 to 100
        CHECK(one.gradients[0].ready == Approx(20.0 / 60));
    }
}

TEST_CASE("profiler trace: what it cannot be taken from is refused", "[scenario][profiler]") {
    const auto refused = [](const std::string& text, const std::string& why) {
        CHECK_THROWS_WITH(parse_profiler_trace(text, "t.json"),
                          Catch::Contains("t.json") && Catch::Contains(why));
    };
    refused("{}", "expected \"traceEvents\"");
    refused(R"({"traceEvents": 3})", "expected a list of events");
    refused(trace_of(event("aten::mm", 0, 10, "cpu_op")), "expected training, found no");
    refused(trace_of(backward(1) + event("torch::autograd::AccumulateGrad", 2, 1, "cpu_op")),
            "record_shapes=True");
    refused(trace_of(backward(1) + gradient(5, "[0]")), "expected the sizes of a gradient");
    refused(trace_of(backward(1) + gradient(5, "[2]") + event("c10d::allreduce_", 6, 1, "cpu_op")),
            "training of one worker alone");
    refused(trace_of(gradient(5, "[2]")), "functions of a backward pass");
    refused(R"({"traceEvents": [{"ph": "X", "name": "a", "dur": 1}]})", "/traceEvents/0/ts");
    refused(R"({"traceEvents": [{"ph": "X", "name": "a", "ts": 5, "dur": -1}]})",
            "/traceEvents/0/dur");
    // Passes without marks, whose gradients come in another order.
    const auto pass = [](double by, const char* first, const char* second) {
        return event("autograd::engine::evaluate_function: NllLossBackward0", by, 1, "cpu_op") +
               backward(by + 2) + gradient(by + 10, first) + backward(by + 12) +
               gradient(by + 20, second);
    };
    refused(trace_of(pass(0, "[10, 4]", "[10]") + pass(100, "[10]", "[10, 4]") +
                     pass(200, "[10, 4]", "[10]")),
            "expected a backward pass a step, found 3 of the same 2 gradients without "
            "\"ProfilerStep#\" marks: call prof.step() after each step");
    const std::string other = event("ProfilerStep#2", 1000, 100, "user_annotation") +
                              backward(1010) + gradient(1050, "[7]");
    refused(trace_of(of_a_processor(1) + other), "expected equal gradients in all steps");
}

TEST_CASE("profiler trace: passes without marks, equal layers, and passes within a step",
          "[scenario][profiler]") {
    const std::string file = UKEMI_SOURCE_DIR "/scenarios/profiler/small_cnn_16.trace";
    std::string text = read_file(file, scenarios::profiler_bytes_max);
    for (std::size_t at = 0; (at = text.find("ProfilerStep#", at)) != std::string::npos;) {
        text.replace(at, 13, "Unmarked");
    }
    CHECK_THROWS_WITH(parse_profiler_trace(text, file),
                      Catch::Contains("found 5 of the same 8 gradients without"));
    // Layers of one size are one pass: it begins with the loss.
    const auto layer = [](double at_us) { return backward(at_us) + gradient(at_us + 9, "[10]"); };
    const std::string layers =
        event("autograd::engine::evaluate_function: MseLossBackward0", 10, 1, "cpu_op") +
        layer(20) + layer(30) + layer(40);
    CHECK(parse_profiler_trace(trace_of(layers), "t.json").gradients.size() == 3);
    // Of a marked step, too, if nothing goes forward between them.
    const std::string mark = event("ProfilerStep#1", 0, 100, "user_annotation");
    const auto two = [&](const std::string& between) {
        return parse_profiler_trace(trace_of(mark + layer(20) + between + layer(60)), "t.json");
    };
    CHECK(two("").gradients.size() == 2);
    const auto wrapped = [](double at_us, double length_us) {
        return event("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", at_us,
                     length_us, "cpu_op");
    };
    CHECK(two(wrapped(28, 20) + event("aten::detach", 40, 2, "cpu_op")).gradients.size() == 2);
    CHECK_THROWS_WITH(two(wrapped(28, 2) + event("aten::linear", 40, 9, "cpu_op")),
                      "t.json: expected a backward pass a step, found 2 of the same 1 gradients in "
                      "one \"ProfilerStep#\": record steps that do not accumulate gradients");
}

TEST_CASE("profiler trace: a recorded one is a model of steps", "[scenario][profiler]") {
    const std::string folder = UKEMI_SOURCE_DIR "/scenarios/profiler";
    const std::string small = folder + "/small_cnn_16.trace";
    const auto step = parse_profiler_trace(read_file(small, scenarios::profiler_bytes_max), small);
    CHECK(step.steps == 5);
    REQUIRE(step.gradients.size() == 8);
    const auto entry = [&](int batch, const std::string& more) {
        const std::string text = fmt::format(
            R"({{"name": "own", "seed": 1, "cluster": {{"machine": "p3.2xlarge", "count": 2}},
                 "job": {{"model": {{"kind": "profiled", "traces": {{"16": "{0}/small_cnn_16.trace",
                          "64": "{0}/small_cnn_64.trace"}}}}, "batch": {1} {2}}}}})",
            folder, batch, more);
        return scenarios::step_scenario_from_text(text, "own.json").jobs.at(0);
    };
    const auto own = entry(16, "");
    CHECK(own.gradient == 4 * bytes(206'922));  // of the net's parameters
    CHECK(to_seconds(own.job.compute.at(0)) == Approx(step.seconds).epsilon(1e-6));
    CHECK(own.job.forward_share == Approx(1 - step.backward_share));
    CHECK(own.curve == "10 steps of PyTorch's profiler");
    // A batch between the two is on the line between their times, as a table of times is.
    const double low = to_seconds(own.job.compute.at(0));
    const double high = to_seconds(entry(64, "").job.compute.at(0));
    CHECK(to_seconds(entry(40, "").job.compute.at(0)) == Approx((low + high) / 2).epsilon(1e-6));
    // Of the trace that is nearer.
    CHECK(entry(39, "").job.forward_share == own.job.forward_share);
    CHECK(entry(41, "").job.forward_share == entry(64, "").job.forward_share);
    CHECK_THROWS_WITH(entry(16, R"(, "compute": {"fixed": "1 s"})"),
                      Catch::Contains("/job/compute: stands beside a model whose steps"));
    CHECK_THROWS_WITH(entry(16, R"(, "layout": {"data": 2, "shard": "parameters"})"),
                      Catch::Contains("/job/layout: only transformers' parameters are divided"));
    const std::string one = fmt::format(
        R"({{"name": "own", "seed": 1, "cluster": {{"machine": "p3.2xlarge"}}, "job": {{"batch": 17,
             "model": {{"kind": "profiled", "traces": {{"16": "{}/small_cnn_16.trace"}}}}}}}})",
        folder);
    CHECK_THROWS_WITH(scenarios::step_scenario_from_text(one, "own.json"),
                      "own.json: at /job/model: has batch 16 only: expected the 17 of \"batch\", "
                      "or two others");
}

}  // namespace ukemi
