// cuda_bench.cpp — what each kernel moves a second, beside what this device's memory copies.
//
// Every kernel is first compared with its CPU reference at the size that is timed; what does not
// match is not timed, and the program exits with 1. Bandwidth is the least that a run must move
// (see Case::bytes) over the median of its repetitions; a repetition is timed by the device's own
// events over as many runs as take about ten milliseconds. The copy is cudaMemcpyAsync within the
// device, read and write counted. With --images and --labels (IDX files) the kernels are also
// compared on the gradient of a multi-layer perceptron. Last, what measuring the gradients' noise
// adds to a step of ResNet-32; not with one repetition, which is for tools that look for faults.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/statistics.hpp"
#include "kernels/cuda/cases.hpp"
#include "kernels/cuda/cuda_backend.hpp"
#include "kernels/cuda/device_network.hpp"
#include "kernels/cuda/handles.hpp"
#include "kernels/cuda/momentum.hpp"
#include "kernels/cuda/noise_step.hpp"
#include "kernels/measured_times.hpp"
#include "kernels/model.hpp"

namespace {

using namespace ukemi;
using namespace ukemi::kernels;
using namespace ukemi::kernels::cuda;

struct Options {
    std::size_t elements = std::size_t{1} << 25;
    int repetitions = 15;
    std::string images;
    std::string labels;
};

struct Times {  // of one run, in seconds
    double least = 0;
    double median = 0;
    double most = 0;
};

double seconds_of(cudaStream_t stream, int runs, const std::function<void()>& run) {
    const Event begin = make_event();
    const Event end = make_event();
    check(cudaEventRecord(begin.get(), stream));
    for (int i = 0; i < runs; ++i) run();
    check(cudaEventRecord(end.get(), stream));
    check(cudaEventSynchronize(end.get()));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
    return static_cast<double>(milliseconds) / 1000 / runs;
}

Times times_of(cudaStream_t stream, int repetitions, const std::function<void()>& run) {
    seconds_of(stream, 3, run);  // warm
    const double once = seconds_of(stream, 3, run);
    const int runs = std::clamp(static_cast<int>(0.01 / std::max(once, 1e-7)), 1, 10'000);
    std::vector<double> all;
    for (int i = 0; i < repetitions; ++i) all.push_back(seconds_of(stream, runs, run));
    std::ranges::sort(all);
    return {all.front(), median(all), all.back()};
}

int attribute(cudaDeviceAttr which, int device) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, device));
    return value;
}

void print_device() {
    int device = 0;
    int driver = 0;
    int runtime = 0;
    check(cudaGetDevice(&device));
    check(cudaDriverGetVersion(&driver));
    check(cudaRuntimeGetVersion(&runtime));
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device));
    fmt::print("{}, sm_{}{}, {} multiprocessors, {:.1f} GiB, L2 {} MiB\n", properties.name,
               properties.major, properties.minor, properties.multiProcessorCount,
               static_cast<double>(properties.totalGlobalMem) / (1 << 30),
               properties.l2CacheSize >> 20);
    fmt::print("clocks at most: chip {} MHz, memory {} MHz; driver {}, runtime {}\n",
               attribute(cudaDevAttrClockRate, device) / 1000,
               attribute(cudaDevAttrMemoryClockRate, device) / 1000, driver, runtime);
}

double copy_bytes_per_second(cudaStream_t stream, int repetitions) {
    constexpr std::size_t bytes = std::size_t{1} << 29;
    const Buffer<unsigned char> from(bytes);
    const Buffer<unsigned char> to(bytes);
    check(cudaMemsetAsync(from.data(), 1, bytes, stream));
    const Times times = times_of(stream, repetitions, [&] {
        check(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream));
    });
    const double rate = 2.0 * static_cast<double>(bytes) / times.median;
    fmt::print("copy: {:.0f} GB/s, read and written (512 MiB, median of {}, {:.0f} … {:.0f})\n",
               rate / 1e9, repetitions, 2.0 * static_cast<double>(bytes) / times.most / 1e9,
               2.0 * static_cast<double>(bytes) / times.least / 1e9);
    return rate;
}

// Compares and times; false if anything did not match.
bool measure_all(const Options& options, cudaStream_t stream, double copy_rate) {
    const std::vector<float> gradient = made_gradient("bench", options.elements);
    fmt::print("\n{} elements\n{:<24} {:<21} {:>9} {:>9} {:>9} {:>7} {:>8}\n", options.elements,
               "kernel", "compared", "least us", "median us", "most us", "GB/s", "of copy");
    bool all_match = true;
    for (const CaseEntry& entry : all_cases()) {
        const auto made = entry.make(gradient);
        const std::string mismatch = made->mismatch(stream);
        if (!mismatch.empty()) {
            fmt::print("{:<24} NOT TIMED, does not match: {}\n", entry.name, mismatch);
            all_match = false;
            continue;
        }
        const Times times = times_of(stream, options.repetitions, [&] { made->run(stream); });
        const double rate = static_cast<double>(made->bytes()) / times.median;
        fmt::print("{:<24} {:<21} {:>9.1f} {:>9.1f} {:>9.1f} {:>7.0f} {:>6.0f} %\n", entry.name,
                   entry.compared, times.least * 1e6, times.median * 1e6, times.most * 1e6,
                   rate / 1e9, 100 * rate / copy_rate);
        std::fflush(stdout);
    }
    return all_match;
}

// What the gradients' noise costs: a step of ResNet-32 whose update measures norms beside one whose
// update does not.
void measure_monitor(int repetitions, cudaStream_t stream) {
    constexpr int samples = 128;
    constexpr std::int32_t features = 3 * 32 * 32;
    const ImageNetwork network = network_of({.kind = "resnet32", .hidden = {}}, features, 10);
    DeviceNetwork device(network, samples, stream);
    const std::size_t count = network.parameter_count;
    std::vector<float> start;
    for (const double weight : network.initial_weights(1)) {
        start.push_back(static_cast<float>(weight));
    }
    const Buffer<float> weights(start);
    const Buffer<float> values(made_gradient("pixels", std::size_t{samples} * features));
    const Buffer<std::uint8_t> labels(std::vector<std::uint8_t>(samples, 3));
    const Buffer<float> gradient(count);
    const Buffer<float> velocity(std::vector<float>(count, 0.0F));
    const Buffer<double> result(2);
    const Buffer<double> workspace(noise_step_workspace(1, count));
    const Buffer<double> norms(2);
    const MomentumRule rule{.momentum = 0.9F, .weight_decay = 0, .rate = 1e-6F};
    const auto step = [&](bool measures) {
        device.gradient(weights.data(), values.data(), labels.data(), samples, gradient.data(),
                        result.data());
        check(measures ? launch_noise_step(rule, gradient.data(), 1, count, weights.data(),
                                           velocity.data(), workspace.data(), norms.data(), stream)
                       : launch_momentum_step(rule, gradient.data(), weights.data(),
                                              velocity.data(), count, stream));
    };
    // In turns, so that clocks which change change for both.
    std::vector<double> without;
    std::vector<double> with;
    for (int i = 0; i < 2 * repetitions; ++i) {
        without.push_back(seconds_of(stream, 10, [&] { step(false); }));
        with.push_back(seconds_of(stream, 10, [&] { step(true); }));
    }
    const double plain = MeasuredTimes{without}.median();
    const double measured = MeasuredTimes{with}.median();
    fmt::print(
        "\nmonitor: a step of ResNet-32, batch {}, by {}: {:.1f} us, with norms {:.1f} us: "
        "{:+.2f} % (aim: less than 0.5 %)\n",
        samples, device.products_by(), plain * 1e6, measured * 1e6, 100 * (measured / plain - 1));
}

bool compare_on_data(const Options& options, cudaStream_t stream) {
    const DataSet data = load_data(
        {.kind = "idx", .images = options.images, .labels = options.labels, .samples = 256});
    const auto model = make_model({.kind = "mlp", .hidden = {1024}}, data);
    std::vector<std::uint32_t> samples(static_cast<std::size_t>(data.count));
    std::iota(samples.begin(), samples.end(), 0U);
    std::vector<float> gradient(model->parameter_count(), 0.0F);
    const auto workspace = model->make_workspace();
    model->gradient(model->initial_weights(1), data, samples, gradient, *workspace, {});
    for (float& value : gradient) value /= static_cast<float>(data.count);
    bool all_match = true;
    for (const CaseEntry& entry : all_cases()) {
        const std::string mismatch = entry.make(gradient)->mismatch(stream);
        if (mismatch.empty()) continue;
        fmt::print("{} on a gradient of data: {}\n", entry.name, mismatch);
        all_match = false;
    }
    fmt::print("\ngradient of an MLP of {} parameters over {} images: {}\n", gradient.size(),
               data.count, all_match ? "every kernel matches" : "NOT every kernel matches");
    return all_match;
}

template <class Number>
bool read_number(std::string_view text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() && number > 0;
}

// Options of Google Benchmark, which `./dev bench` hands to every program, are not for this one.
bool read_options(std::span<char* const> given, Options& options) {
    std::vector<const char*> arguments(given.begin(), given.end());
    std::erase_if(arguments,
                  [](std::string_view text) { return text.starts_with("--benchmark_"); });
    if (arguments.size() % 2 != 0) return false;
    for (std::size_t i = 0; i < arguments.size(); i += 2) {
        const std::string_view name = arguments[i];
        const char* value = arguments[i + 1];
        if (name == "--images") {
            options.images = value;
        } else if (name == "--labels") {
            options.labels = value;
        } else if (name == "--elements") {
            if (!read_number(value, options.elements)) return false;
        } else if (name != "--repetitions" || !read_number(value, options.repetitions)) {
            return false;
        }
    }
    return options.images.empty() == options.labels.empty();
}

}  // namespace

int main(int count, char** arguments) {
    Options options;
    if (!read_options(std::span(arguments, static_cast<std::size_t>(count)).subspan(1), options)) {
        fmt::print(stderr,
                   "usage: bench_cuda [--elements N] [--repetitions N] "
                   "[--images FILE --labels FILE]\n");
        return 2;
    }
    const std::string missing = gpu_unusable();
    if (!missing.empty()) {
        fmt::print("no GPU answers ({}): nothing measured\n", missing);
        return 0;
    }
    try {
        print_device();
        const Stream stream = make_stream();
        const double copy_rate = copy_bytes_per_second(stream.get(), options.repetitions);
        bool all_match = true;
        if (!options.images.empty()) all_match = compare_on_data(options, stream.get());
        all_match = measure_all(options, stream.get(), copy_rate) && all_match;
        if (options.repetitions > 1) measure_monitor(options.repetitions, stream.get());
        return all_match ? 0 : 1;
    } catch (const std::exception& error) {
        fmt::print(stderr, "bench_cuda: {}\n", error.what());
        return 1;
    }
}
