// learners_bench.cpp — several learners on one device: how many it bears, whether their time can be
// predicted, and what averaging does to accuracy.
//
// Three parts, each bounded in time: a sweep over learners and Crossbow's search for their number,
// once with a stream (a thread) for each and once batched together; clock times of a grid (learners
// × batch), a law fitted to them, its predictions for combinations that were not measured, written
// with their digest before those are run; and accuracy after equal numbers of samples, of k
// averaging learners with batch b, one learner with batch b, and one with batch k·b (which is S-SGD
// of k workers), of three seeds and with tasks bound to learners, so that it can be repeated. The
// device is the GPU where one answers, else, or with
// --device cpu, threads: then the numbers say how the program works, and nothing about a GPU.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <numeric>
#include <optional>
#include <ranges>
#include <thread>

#include "base/line_fit.hpp"
#include "base/read_file.hpp"
#include "base/text_digest.hpp"
#include "bench/moved_images.hpp"
#include "bench/tested_accuracy.hpp"
#include "kernels/learners/learner_engine.hpp"
#include "kernels/measured_times.hpp"
#include "kernels/models/image_network.hpp"
#include "studies/batched_learners/batched_devices.hpp"
#include "tests/support/learner_tuning.hpp"
#ifdef UKEMI_WITH_CUDA
#include "kernels/cuda/cuda_backend.hpp"
#include "kernels/cuda/cuda_device.hpp"
#include "kernels/cuda/device_network.hpp"
#include "studies/batched_learners/cuda/cuda_batched_device.hpp"
#endif

namespace {

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::kernels;
using namespace ukemi::policies;
using Time = std::chrono::duration<double>;

struct Options {
    bool cpu = false;
    ModelSpec model{.kind = "lenet5", .hidden = {}};
    DataSpec data{.kind = "synthetic", .samples = 4096, .features = 784, .classes = 10, .seed = 1};
    int learners_most = 8;
    double seconds = 1;  // of one measurement, about
    std::vector<std::string> parts{"sweep", "predictions", "accuracy"};
    std::string test_images;  // of the part "trained"
    std::string test_labels;
    double train_seconds = 60;
    std::filesystem::path out = "results/learners_bench";
};

enum class Mode { side_by_side, batched };  // a stream or thread each, or all in one call a layer

struct Rig {
    // Begins with the fewest learners; `most` is how many there may be later.
    struct Learners {
        int at_first = 1;
        int most = 1;
    };
    Rig(const Options& options, const DataSet& training, Learners learners, std::int64_t batch,
        LearnerDevice::Step step, Mode mode = Mode::side_by_side, std::uint64_t seed = 1,
        Binding binding = Binding::first_come, decltype(InputSettings::change) change = {})
        : model(make_model(options.model, training)),
          network(network_of(options.model, training.features, training.classes)),
          device(make_device(options, training, batch, mode, seed)),
          input(training,
                {.batch = batch,
                 .threads = options.cpu ? 1 : 4,
                 .ready_most = 4 * learners.most + 8,
                 .seed = seed,
                 .change = std::move(change)},
                [this](std::size_t bytes) { return device->pinned(bytes); }),
          engine(*device, input,
                 {.learners_per_gpu = learners.at_first,
                  .slack = 0,
                  .binding = binding,
                  .step = step,
                  .central_momentum = 0,
                  .exchange = {}}) {}

    std::unique_ptr<LearnerDevice> make_device(const Options& options, const DataSet& training,
                                               std::int64_t batch, Mode mode,
                                               std::uint64_t seed) const {
        const std::vector<float> weights = model->initial_weights(seed);
        const bool batched = mode == Mode::batched;
#ifdef UKEMI_WITH_CUDA
        if (!options.cpu) {
            cuda::CudaDeviceSettings settings;
            settings.samples_most = static_cast<int>(batch);
            return batched ? studies::make_cuda_batched_device(network, weights, settings)
                           : cuda::make_cuda_device(network, weights, settings);
        }
#endif
        static_cast<void>(options);
        static_cast<void>(batch);
        const auto make = batched ? studies::make_cpu_batched_device : make_cpu_device;
        return make(*model, training.features, training.classes, weights);
    }

    std::unique_ptr<Model> model;
    ImageNetwork network;
    std::unique_ptr<LearnerDevice> device;
    InputPipeline input;
    LearnerEngine engine;
};

LearnerDevice::Step step_of(double rate, float pull, float weight_decay = 0) {
    return {{.momentum = 0.9F, .weight_decay = weight_decay, .rate = static_cast<float>(rate)},
            pull};
}

// Of a clock: seconds in stretches, each about a third of the time there is, and what all threads
// of this process computed in it, which another program's load does not lengthen as much.
struct ClockTimes {
    MeasuredTimes wall;
    double processor_s = 0;
    double launching_s = 0;  // of the thread that starts tasks
};

double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
ClockTimes clock_times(const Options& options, const DataSet& training, int learners,
                       std::int64_t batch, Mode mode = Mode::side_by_side) {
    Rig rig(options, training, {learners, learners}, batch, step_of(0.01, 0.1F), mode);
    rig.engine.run(3);  // warm: allocations, graphs, caches
    const double once = rig.engine.run(3).s / 3;
    const auto clocks = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(options.seconds / 5 / std::max(once, 1e-7)), 3, 100'000);
    ClockTimes times;
    constexpr int stretches = 5;
    const std::clock_t begun = std::clock();
    const double launching_from = thread_seconds();
    for (int stretch = 0; stretch < stretches; ++stretch) {
        times.wall.s.push_back(rig.engine.run(clocks).s / static_cast<double>(clocks));
    }
    const auto all = static_cast<double>(stretches * clocks);
    times.processor_s = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC / all;
    times.launching_s = (thread_seconds() - launching_from) / all;
    return times;
}

void sweep(const Options& options, const DataSet& training, Mode mode) {
    constexpr std::int64_t batch = 16;
    const std::string_view name = mode == Mode::batched ? "batched"
                                  : options.cpu         ? "threads"
                                                        : "streams";
    fmt::print("\n{}: learners, batch {} each\n{:>9}{:>12}{:>12}{:>9}{:>10}{:>18}{:>18}\n", name,
               batch, "learners", "clock us", "samples/s", "spread", "of one", "processor us each",
               "launching us each");
    double most = 0;
    double one = 0;
    for (int learners = 1; learners <= options.learners_most; ++learners) {
        const ClockTimes both = clock_times(options, training, learners, batch, mode);
        const MeasuredTimes& times = both.wall;
        const double rate = static_cast<double>(learners * batch) / times.median();
        if (learners == 1) one = rate;
        most = std::max(most, rate);
        fmt::print("{:>9}{:>12.1f}{:>12.0f}{:>7.1f} %{:>9.2f}x{:>18.1f}{:>18.1f}\n", learners,
                   times.median() * 1e6, rate, 100 * times.spread(), rate / one,
                   both.processor_s / learners * 1e6, both.launching_s / learners * 1e6);
        std::fflush(stdout);
    }
    fmt::print("{}: at most {:.2f} times the throughput of one learner\n", name, most / one);
    Rig rig(options, training, {1, options.learners_most}, batch, step_of(0.01, 0.1F), mode);
    const double once = std::max(rig.engine.run(5).s / 5, 1e-7);
    const auto window =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(options.seconds / once), 5, 100'000);
    const auto windows = tune_learners(rig.engine, LearnerTuning(options.learners_most), window);
    fmt::print("{}: the search took {} windows and stays at {} learners:", name, windows.size(),
               rig.engine.learners_per_gpu());
    for (const TuningWindow& one_window : windows) {
        fmt::print(" {}: {:.0f}/s", one_window.learners, one_window.samples_per_s);
    }
    fmt::print("\n");
}

struct Combination {
    int learners = 1;
    std::int64_t batch = 1;
};

// Lines between measured neighbours, first of batches, then of numbers of learners.
class ClockLaw {
public:
    void add(int learners, const std::vector<LinePoint>& by_batch) {
        measured_.emplace_back(learners, by_batch);
    }
    double clock_s(const Combination& wanted) const {
        std::vector<LinePoint> by_learners;
        for (const auto& [learners, by_batch] : measured_) {
            by_learners.push_back({static_cast<double>(learners),
                                   between(by_batch, static_cast<double>(wanted.batch))});
        }
        return between(by_learners, static_cast<double>(wanted.learners));
    }

private:
    static double between(const std::vector<LinePoint>& points, double at) {
        const auto above = std::ranges::find_if(points.begin() + 1, points.end() - 1,
                                                [&](const LinePoint& one) { return one.x >= at; });
        const LinePoint& below = above[-1];
        return below.y + (above->y - below.y) * (at - below.x) / (above->x - below.x);
    }
    std::vector<std::pair<int, std::vector<LinePoint>>> measured_;
};

void predict_then_run(const Options& options, const DataSet& training) {
    ClockLaw law;
    for (const int learners : {1, 2, 4}) {
        std::vector<LinePoint> points;
        for (const std::int64_t batch : {8, 32, 128}) {
            const MeasuredTimes times = clock_times(options, training, learners, batch).wall;
            points.push_back({static_cast<double>(batch), times.median()});
        }
        fmt::print("{} learner{}:", learners, learners == 1 ? "" : "s");
        for (const LinePoint& point : points) {
            fmt::print(" batch {:.0f} {:.1f} us", point.x, point.y * 1e6);
        }
        fmt::print("\n");
        law.add(learners, points);
    }
    const std::vector<Combination> wanted{{1, 16}, {1, 64}, {2, 16}, {2, 64},
                                          {3, 16}, {3, 64}, {4, 16}, {4, 64}};
    std::string text = "learners,batch,clock_s\n";
    for (const Combination& one : wanted) {
        text += fmt::format("{},{},{:.9f}\n", one.learners, one.batch, law.clock_s(one));
    }
    write_file_atomically(options.out / "prediction.csv", text);
    fmt::print(
        "\npredictions of {} combinations that were not measured: digest {:016x}, written "
        "before they ran\n{:>9}{:>7}{:>14}{:>14}{:>9}\n",
        wanted.size(), text_digest(text), "learners", "batch", "predicted us", "measured us",
        "error");
    std::size_t near = 0;
    for (const Combination& one : wanted) {
        const MeasuredTimes times = clock_times(options, training, one.learners, one.batch).wall;
        const double error = law.clock_s(one) / times.median() - 1;
        near += std::abs(error) <= 0.1 ? 1 : 0;
        fmt::print("{:>9}{:>7}{:>14.1f}{:>14.1f}{:>+7.1f} %\n", one.learners, one.batch,
                   law.clock_s(one) * 1e6, times.median() * 1e6, 100 * error);
        std::fflush(stdout);
    }
    fmt::print("{} of {} within 10 %\n", near, wanted.size());
}

struct Way {
    const char* name;
    int learners;
    std::int64_t batch;
    float pull;
    float central_momentum;
    double rate;
};

// A ResNet's test takes the CPU longer than its training a GPU: not more than these samples.
std::int64_t tested_of(const Options& options, const DataSet& test) {
    constexpr std::int64_t most_of_resnet = 256;
    return options.model.kind.starts_with("resnet") ? std::min(most_of_resnet, test.count)
                                                    : test.count;
}

// Over the first `count` samples, on all cores.
double accuracy_of(const Rig& rig, const DataSet& test, std::int64_t count,
                   std::span<const float> weights) {
    return bench::tested_accuracy(*rig.model, test, static_cast<std::size_t>(count), weights,
                                  std::max(1U, std::thread::hardware_concurrency()));
}

void accuracies(const Options& options, const DataSet& training, const DataSet& test) {
    constexpr int learners = 4;
    constexpr std::int64_t batch = 16;
    constexpr double rate = 0.01;
    constexpr int seeds = 3;
    const std::int64_t tested = tested_of(options, test);
    fmt::print(
        "\naccuracy on {} other samples after 10 epochs each, {} seeds\n{:<44}{:>9}{:>10}{:>9}"
        "{:>17}\n",
        tested, seeds, "", "samples", "loss", "mean", "least ... most");
    for (const Way& way :
         {Way{"averaging, 4 learners of batch 16", learners, batch, 0.25F, 0, rate},
          Way{"averaging, central momentum 0.75", learners, batch, 0.25F, 0.75F, rate},
          Way{"averaging, 4 times the rate", learners, batch, 0.25F, 0, learners * rate},
          Way{"S-SGD, batch 64 (of 4 workers with 16)", 1, learners * batch, 0, 0, rate},
          Way{"S-SGD, batch 64, 4 times the rate", 1, learners * batch, 0, 0, learners * rate},
          Way{"one learner, batch 16", 1, batch, 0, 0, rate}}) {
        EngineReport report;
        std::vector<double> found;
        for (int seed = 1; seed <= seeds; ++seed) {
            Rig rig(options, training, {way.learners, way.learners}, way.batch,
                    step_of(way.rate, way.pull), Mode::side_by_side,
                    static_cast<std::uint64_t>(seed), Binding::fixed);
            const std::int64_t clocks =
                10 * training.count / (way.batch * static_cast<std::int64_t>(way.learners));
            rig.engine.set_step(step_of(way.rate, way.pull), way.central_momentum);
            report = rig.engine.run(clocks);
            const auto weights = way.pull > 0 ? rig.device->central() : rig.device->weights(0);
            found.push_back(accuracy_of(rig, test, tested, weights));
        }
        const auto [least, most] = std::ranges::minmax(found);
        fmt::print("{:<44}{:>9}{:>10.4f}{:>9.4f}{:>8.4f} ... {:.4f}\n", way.name, report.samples,
                   report.loss, std::accumulate(found.begin(), found.end(), 0.0) / seeds, least,
                   most);
        std::fflush(stdout);
    }
}

// How a whole training went.
struct Training {
    double s = 0;  // of steps alone
    EngineReport last;
    double accuracy = 0;  // on all of the test's samples
};
Training train(const Options& options, const DataSet& training, const DataSet& test, const Way& way,
               std::int64_t clocks) {
    constexpr float weight_decay = 1e-4F;
    struct Phase {
        double until;  // of all clocks
        double rate;   // of the first
    };
    constexpr std::uint64_t seed = 1;
    const ImageShape shape = image_shape(training.features);
    Rig rig(options, training, {way.learners, way.learners}, way.batch,
            step_of(way.rate, way.pull, weight_decay), Mode::side_by_side, seed,
            Binding::first_come, [=](auto values, std::int64_t batch, std::uint32_t sample) {
                bench::move_image(values, shape, seed, batch, sample);
            });
    Training found;
    std::int64_t done = 0;
    for (const Phase& phase : {Phase{0.6, 1}, Phase{0.85, 0.1}, Phase{1, 0.01}}) {
        const auto until = static_cast<std::int64_t>(phase.until * static_cast<double>(clocks));
        if (until <= done) continue;
        rig.engine.set_step(step_of(phase.rate * way.rate, way.pull, weight_decay),
                            way.central_momentum);
        found.last = rig.engine.run(until - done);
        found.s += found.last.s;
        done = until;
    }
    const auto weights = way.pull > 0 ? rig.device->central() : rig.device->weights(0);
    found.accuracy = accuracy_of(rig, test, test.count, weights);
    return found;
}

// S-SGD of so many samples as take the seconds that there are; averaging as many, and as long.
void whole_trainings(const Options& options, const DataSet& training, const DataSet& test) {
    constexpr int learners = 4;
    constexpr std::int64_t batch = 16;
    constexpr double rate = 0.1;
    const Way s_sgd{"S-SGD, batch 64", 1, learners * batch, 0, 0, rate};
    const Way averaging{"averaging, 4 learners of batch 16", learners, batch, 0.25F, 0, rate};
    const double clock_s = [&] {
        Rig rig(options, training, {1, 1}, s_sgd.batch, step_of(s_sgd.rate, 0));
        rig.engine.run(20);
        return rig.engine.run(100).s / 100;
    }();
    constexpr std::int64_t clocks_least = 20;
    const auto clocks =
        std::max(static_cast<std::int64_t>(options.train_seconds / clock_s), clocks_least);
    fmt::print(
        "\nwhole trainings, {} images moved by up to 2 pixels and mirrored, rate {} to a tenth "
        "at 60 and 85 %, test on {} others\n"
        "{:<48}{:>9}{:>10}{:>9}{:>10}{:>10}\n",
        training.count, rate, test.count, "", "epochs", "seconds", "loss", "training", "test");
    const auto made_of = [&](const Way& way, std::int64_t of, const char* after) {
        const Training made = train(options, training, test, way, of);
        const auto samples = static_cast<double>(of * way.learners * way.batch);
        fmt::print("{:<48}{:>9.1f}{:>10.1f}{:>9.4f}{:>10.4f}{:>10.4f}\n",
                   fmt::format("{}{}", way.name, after),
                   samples / static_cast<double>(training.count), made.s, made.last.loss,
                   made.last.accuracy, made.accuracy);
        std::fflush(stdout);
        return made.s;
    };
    const double s_sgd_s = made_of(s_sgd, clocks, "");
    const double averaging_s = made_of(averaging, clocks, ", equal samples");
    const auto as_long =
        static_cast<std::int64_t>(static_cast<double>(clocks) * s_sgd_s / averaging_s);
    made_of(averaging, std::max(as_long, clocks_least), ", equal time");
}

// Of one data set, the first part and the rest.
std::pair<DataSet, DataSet> split(const DataSet& whole) {
    const std::int64_t first = whole.count * 3 / 4;
    const auto part = [&](std::int64_t begin, std::int64_t count) {
        DataSet data;
        data.count = count;
        data.features = whole.features;
        data.classes = whole.classes;
        const auto values = whole.values.begin() + begin * whole.features;
        data.values.assign(values, values + count * whole.features);
        data.labels.assign(whole.labels.begin() + begin, whole.labels.begin() + begin + count);
        return data;
    };
    return {part(0, first), part(first, whole.count - first)};
}

constexpr std::array<std::string_view, 4> all_parts{"sweep", "predictions", "accuracy", "trained"};

bool wants(const Options& options, std::string_view part) {
    return std::ranges::find(options.parts, part) != options.parts.end();
}

// Names of parts with commas between them; empty if one of them is none.
std::vector<std::string> read_parts(std::string_view text) {
    std::vector<std::string> parts;
    for (const auto& range : std::views::split(text, ',')) {
        parts.emplace_back(range.begin(), range.end());
        if (std::ranges::find(all_parts, parts.back()) == all_parts.end()) return {};
    }
    return parts;
}

template <class Number>
bool read_number(std::string_view text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() && number > 0;
}

bool read_options(std::span<char* const> given, Options& options) {
    std::vector<std::string_view> arguments(given.begin(), given.end());
    std::erase_if(arguments,
                  [](std::string_view text) { return text.starts_with("--benchmark_"); });
    if (arguments.size() % 2 != 0) return false;
    for (std::size_t i = 0; i < arguments.size(); i += 2) {
        const std::string_view name = arguments[i];
        const std::string value(arguments[i + 1]);
        if (name == "--device") {
            if (value != "cpu" && value != "gpu") return false;
            options.cpu = value == "cpu";
        } else if (name == "--model") {
            options.model.kind = value;
            if (value == "mlp") options.model.hidden = {128};
        } else if (name == "--digits") {
            options.data.kind = "digits";
            options.data.images = value;
        } else if (name == "--parts") {
            options.parts = read_parts(value);
            if (options.parts.empty()) return false;
        } else if (name == "--images") {
            options.data.kind = "idx";
            options.data.images = value;
        } else if (name == "--labels") {
            options.data.labels = value;
        } else if (name == "--out") {
            options.out = value;
        } else if (name == "--test-images") {
            options.test_images = value;
        } else if (name == "--test-labels") {
            options.test_labels = value;
        } else if (name == "--train-seconds") {
            if (!read_number(value, options.train_seconds)) return false;
        } else if (name == "--learners") {
            if (!read_number(value, options.learners_most)) return false;
        } else if (name != "--seconds" || !read_number(value, options.seconds)) {
            return false;
        }
    }
    return !wants(options, "trained") || !options.test_images.empty();
}

std::string device_missing() {
#ifdef UKEMI_WITH_CUDA
    return cuda::gpu_unusable();
#else
    return "built without CUDA";
#endif
}

}  // namespace

int main(int count, char** arguments) {
    Options options;
    if (!read_options(std::span(arguments, static_cast<std::size_t>(count)).subspan(1), options)) {
        fmt::print(stderr,
                   "usage: bench_learners [--device cpu|gpu] [--model KIND] [--learners N] "
                   "[--seconds S] [--parts sweep,predictions,accuracy,trained] "
                   "[--images FILE --labels FILE | --digits FILE] [--out FOLDER] "
                   "[--test-images FILE --test-labels FILE --train-seconds S]\n");
        return 2;
    }
    const std::string missing = device_missing();
    if (!options.cpu && !missing.empty()) {
        fmt::print("no GPU answers ({}): nothing measured (--device cpu takes threads)\n", missing);
        return 0;
    }
    try {
        std::filesystem::create_directories(options.out);
        const auto [training, test] = split(load_data(options.data));
        fmt::print("{} on {}, {} samples of {} features\n", options.model.kind,
                   options.cpu ? "threads of this CPU" : "the GPU", training.count,
                   training.features);
        if (wants(options, "sweep")) {
            sweep(options, training, Mode::side_by_side);
            sweep(options, training, Mode::batched);
        }
        if (wants(options, "predictions")) predict_then_run(options, training);
        if (wants(options, "accuracy")) accuracies(options, training, test);
        if (wants(options, "trained")) {
            DataSpec all = options.data;
            all.samples = 0;
            whole_trainings(
                options, load_data(all),
                load_data(
                    {.kind = "idx", .images = options.test_images, .labels = options.test_labels}));
        }
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "bench_learners: {}\n", error.what());
        return 1;
    }
}
