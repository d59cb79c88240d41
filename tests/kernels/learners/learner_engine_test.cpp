// learner_engine_test.cpp — pools, pipeline and engine with learners that are threads: what a GPU's
// streams do is held to the same promises where there is one.
#include "kernels/learners/learner_engine.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "kernels/averaging.hpp"
#include "studies/batched_learners/batched_devices.hpp"
#include "tests/support/learner_tuning.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::kernels;
using namespace ukemi::policies;
using namespace std::chrono_literals;

namespace {

DataSet learner_data() {
    return load_data({.kind = "synthetic", .samples = 96, .features = 6, .classes = 3, .seed = 4});
}

std::shared_ptr<std::byte> plain_memory(std::size_t bytes) {
    return {new std::byte[bytes], [](std::byte* memory) { delete[] memory; }};
}

struct Rig {
    explicit Rig(EngineSettings settings, std::int64_t batch = 8, LearnerEngine::Time now = {})
        : data(learner_data()),
          model(make_model({.kind = "mlp", .hidden = {5}}, data)),
          first(model->initial_weights(9)),
          device(make_cpu_device(*model, data.features, data.classes, first)),
          input(data, {.batch = batch, .threads = 2, .ready_most = 24, .seed = 5, .change = {}},
                [this](std::size_t bytes) { return device->pinned(bytes); }),
          engine(*device, input, std::move(settings), std::move(now)) {}
    DataSet data;
    std::unique_ptr<Model> model;
    std::vector<float> first;
    std::unique_ptr<LearnerDevice> device;
    InputPipeline input;
    LearnerEngine engine;
};

constexpr LearnerDevice::Step usual{.rule = {0.9F, 1e-4F, 0.05F}, .pull = 0.25F};

}  // namespace

TEST_CASE("object pool: makes when it must, and then hands out the same again", "[learners]") {
    int made = 0;
    ObjectPool<int> pool(2, [&] { return std::make_unique<int>(made++); });
    CHECK(pool.made() == 0);
    {
        const auto one = pool.take();
        const auto two = pool.take();
        CHECK(*one + *two == 1);
    }
    for (int i = 0; i < 5; ++i) CHECK(pool.take());
    CHECK(made == 2);
    CHECK(pool.taken() == 7);
    pool.close();
    CHECK_FALSE(pool.take());
}

TEST_CASE("input pipeline: batches come in order, each sample once an epoch, in few buffers",
          "[learners]") {
    const DataSet data = learner_data();
    InputSettings settings{.batch = 10, .threads = 3, .ready_most = 4, .seed = 3, .change = {}};
    std::atomic<int> buffers{0};
    InputPipeline input(data, settings, [&](std::size_t bytes) {
        ++buffers;
        return plain_memory(bytes);
    });
    std::vector<int> used(static_cast<std::size_t>(data.count), 0);
    constexpr int epochs = 5;
    for (std::int64_t number = 0; number < epochs * data.count / settings.batch; ++number) {
        const auto batch = input.next();
        REQUIRE(batch->number == number);
        for (std::size_t i = 0; i < batch->samples.size(); ++i) {
            const std::uint32_t sample = batch->samples[i];
            ++used[sample];
            REQUIRE(batch->labels[i] == data.labels[sample]);
            REQUIRE(std::ranges::equal(batch->values.subspan(i * 6, 6), data.sample(sample)));
        }
    }
    CHECK(std::ranges::count(used, epochs) == data.count);
    CHECK(input.batches() == 48);
    CHECK(buffers <= 4);
}

TEST_CASE("input pipeline: a sample may be changed on the way, whichever thread does it",
          "[learners]") {
    const DataSet data = learner_data();
    InputSettings settings{.batch = 4, .threads = 3, .ready_most = 3, .seed = 3, .change = {}};
    settings.change = [](std::span<float> values, std::int64_t batch, std::uint32_t) {
        values[0] = static_cast<float>(batch);
    };
    InputPipeline input(data, settings, plain_memory);
    for (int number = 0; number < 30; ++number) {
        const auto batch = input.next();
        REQUIRE(batch->values[0] == static_cast<float>(number));
        REQUIRE(batch->values[1] == data.sample(batch->samples[0])[1]);
    }
    CHECK_FALSE(input.waits() > input.batches());
}

TEST_CASE("input pipeline: an error on an input thread reaches who asks for the batch",
          "[learners]") {
    const DataSet data = learner_data();
    std::atomic<int> given{0};
    InputSettings settings{.batch = 4, .threads = 2, .ready_most = 8, .seed = 3, .change = {}};
    SECTION("no memory for another batch") {
        InputPipeline input(data, settings, [&](std::size_t bytes) {
            if (++given > 3) throw std::runtime_error("no memory");
            return plain_memory(bytes);
        });
        std::vector<InputPipeline::Lease> kept;
        const auto ask = [&] {
            for (;;) kept.push_back(input.next());
        };
        CHECK_THROWS_WITH(ask(), "no memory");
        CHECK(kept.size() <= 3);
        for (std::size_t i = 0; i < kept.size(); ++i) {
            CHECK(kept[i]->number == static_cast<std::int64_t>(i));
        }
        CHECK_THROWS_WITH(input.next(), "no memory");
        kept.clear();
    }
    SECTION("a batch that cannot be made leaves a gap that nobody waits for") {
        settings.change = [](std::span<float>, std::int64_t batch, std::uint32_t) {
            if (batch == 1) throw std::runtime_error("a bad sample");
        };
        InputPipeline input(data, settings, plain_memory);
        const auto ask = [&] {
            for (;;) static_cast<void>(input.next());
        };
        CHECK_THROWS_WITH(ask(), "a bad sample");
        CHECK(input.batches() <= 1);
    }
}

TEST_CASE("input pipeline: the time waited is that of the batches waited for", "[learners]") {
    const DataSet data = learner_data();
    InputSettings settings{.batch = 4, .threads = 1, .ready_most = 3, .seed = 3, .change = {}};
    std::atomic<bool> hold{true};
    settings.change = [&](std::span<float>, std::int64_t, std::uint32_t) { hold.wait(true); };
    InputPipeline input(data, settings, plain_memory);
    CHECK(input.waited() == 0ns);
    std::thread lets_go([&] {
        std::this_thread::sleep_for(5ms);
        hold = false;
        hold.notify_all();
    });
    const auto first = input.next();
    lets_go.join();
    CHECK(input.waits() <= 1);
    CHECK((input.waits() == 1) == (input.waited() > 0ns));
}

TEST_CASE("learner engine: with fixed binding it is Crossbow's averaging, bit for bit",
          "[learners]") {
    constexpr int learners = 3;
    constexpr int clocks = 20;
    Rig rig({.learners_per_gpu = learners,
             .slack = 0,
             .binding = Binding::fixed,
             .step = usual,
             .central_momentum = 0.9F,
             .exchange = {}});
    const EngineReport report = rig.engine.run(clocks);
    CHECK(report.outcome == Outcome::ok);
    CHECK(report.clocks == clocks);
    CHECK(report.samples == learners * clocks * 8);
    CHECK(report.tasks_of == std::vector<std::int64_t>(learners, clocks));
    CHECK(report.ahead_most == 0);

    // The same on one thread, from the published rules.
    const std::size_t size = rig.first.size();
    CentralModel central(rig.first);
    std::vector<std::vector<float>> weights(learners, rig.first);
    std::vector<std::vector<float>> velocity(learners, std::vector<float>(size, 0.0F));
    SampleOrder order(5, rig.data.count);
    const auto workspace = rig.model->make_workspace();
    for (int clock = 0; clock < clocks; ++clock) {
        std::vector<float> sum(size, 0.0F);
        for (std::size_t j = 0; j < learners; ++j) {
            std::vector<std::uint32_t> samples(8);
            order.fill((clock * learners + static_cast<int>(j)) * 8, samples);
            std::vector<float> gradient(size, 0.0F);
            rig.model->gradient(weights[j], rig.data, samples, gradient, *workspace, {});
            for (float& value : gradient) value /= 8;
            std::vector<float> correction(size, 0.0F);
            averaged_learner_step(usual.rule, usual.pull, central.weights(), gradient, weights[j],
                                  velocity[j], correction);
            for (std::size_t i = 0; i < size; ++i) sum[i] += correction[i];
        }
        central.step(sum, 0.9F);
    }
    CHECK(std::ranges::equal(rig.device->central(), central.weights()));
    for (std::size_t j = 0; j < learners; ++j) {
        CHECK(rig.device->weights(static_cast<int>(j)) == weights[j]);
    }
}

TEST_CASE("learner engine: learners batched together are learners side by side, bit for bit",
          "[learners]") {
    const std::string kind = GENERATE("mlp", "softmax", "cnn", "lenet5", "resnet20");
    CAPTURE(kind);
    const bool images = kind != "mlp" && kind != "softmax";
    const DataSet data = load_data({.kind = "synthetic",
                                    .samples = 64,
                                    .features = images ? 16 * 16 : 6,
                                    .classes = 3,
                                    .seed = 4});
    ModelSpec spec{.kind = kind, .hidden = {}};
    if (kind == "mlp") spec.hidden = {7, 5};
    if (kind == "cnn") spec.hidden = {3};
    const auto model = make_model(spec, data);
    const auto first = model->initial_weights(9);
    const auto run = [&](std::unique_ptr<LearnerDevice> device) {
        InputPipeline input(data,
                            {.batch = 5, .threads = 2, .ready_most = 12, .seed = 5, .change = {}},
                            [&](std::size_t bytes) { return device->pinned(bytes); });
        EngineSettings settings;
        settings.learners_per_gpu = 3;
        settings.binding = Binding::fixed;
        settings.step = usual;
        settings.central_momentum = 0.5F;
        LearnerEngine engine(*device, input, settings);
        const double loss = engine.run(3).loss;
        engine.set_learners(4);
        engine.run(1);
        engine.set_learners(2);
        engine.run(1);
        return std::tuple(device->central(), device->weights(0), device->weights(1), loss);
    };
    CHECK(run(make_cpu_device(*model, data.features, data.classes, first)) ==
          run(studies::make_cpu_batched_device(*model, data.features, data.classes, first)));
}

TEST_CASE("learner engine: first come, first served uses every batch once, within the slack",
          "[learners]") {
    for (const std::int64_t slack : {std::int64_t{0}, std::int64_t{2}, slack_unbounded}) {
        CAPTURE(slack);
        Rig rig({.learners_per_gpu = 4,
                 .slack = slack,
                 .binding = Binding::first_come,
                 .step = usual,
                 .central_momentum = 0,
                 .exchange = {}});
        const EngineReport report = rig.engine.run(30);
        CHECK(report.outcome == Outcome::ok);
        CHECK(report.tasks == 120);
        CHECK(report.clocks == 30);
        CHECK(rig.input.batches() == 120);
        CHECK(report.ahead_most <= slack);
        CHECK(std::accumulate(report.tasks_of.begin(), report.tasks_of.end(), std::int64_t{0}) ==
              120);
        CHECK(report.loss > 0);
        for (const float weight : rig.device->central()) REQUIRE(std::isfinite(weight));
        CHECK(rig.engine.run(3).clocks == 3);  // and goes on
    }
}

TEST_CASE("learner engine: learners are made when wanted, begin at the centre, and are kept",
          "[learners]") {
    Rig rig({.learners_per_gpu = 1,
             .slack = 0,
             .binding = Binding::fixed,
             .step = usual,
             .central_momentum = 0,
             .exchange = {}});
    rig.engine.run(5);
    CHECK(rig.device->learners_made() == 1);
    rig.engine.set_learners(3);
    CHECK(rig.device->learners_made() == 3);
    CHECK(rig.device->weights(2) == rig.device->central());
    CHECK(rig.device->weights(0) != rig.device->central());
    rig.engine.run(5);
    rig.engine.set_learners(2);
    rig.engine.run(5);
    rig.engine.set_learners(3);
    CHECK(rig.device->learners_made() == 3);
    CHECK(rig.device->weights(2) == rig.device->central());
    rig.device->restart(rig.first, rig.first);
    CHECK(rig.device->weights(0) == rig.first);
    CHECK(rig.device->central() == rig.first);
}

TEST_CASE("learner engine: a failed exchange ends the run and changes nothing", "[learners]") {
    int exchanges = 0;
    Rig rig({.learners_per_gpu = 2,
             .slack = 0,
             .binding = Binding::fixed,
             .step = usual,
             .central_momentum = 0,
             .exchange = [&](std::span<float> sum) {
                 for (float& value : sum) value *= 2;  // as if another GPU had the same
                 return ++exchanges == 4 ? Outcome::peer_lost : Outcome::ok;
             }});
    rig.engine.run(3);
    const std::vector<float> before = rig.device->central();
    const EngineReport report = rig.engine.run(10);
    CHECK(report.outcome == Outcome::peer_lost);
    CHECK(report.clocks == 0);
    CHECK(report.tasks == 2);
    CHECK(rig.device->central() == before);
}

namespace {

// A CPU device on which a task gets lost, fails to start, or an error is found.
class FaultyDevice final : public LearnerDevice {
public:
    explicit FaultyDevice(LearnerDevice& sound) : sound_(sound) {}
    std::size_t parameters() const override { return sound_.parameters(); }
    std::shared_ptr<std::byte> pinned(std::size_t bytes) override { return sound_.pinned(bytes); }
    void use_learners(int count, std::size_t slots) override { sound_.use_learners(count, slots); }
    int learners_made() const override { return sound_.learners_made(); }
    void start(int learner, const InputBatch& batch, const Step& step, std::size_t slot,
               Done done) override {
        const int number = starts++;
        if (number == fails_at) throw std::runtime_error("cannot start");
        if (number == lost_at) {
            lost = std::move(done);
            batch_of_lost = &batch;
            number_of_lost = batch.number;
            return;
        }
        sound_.start(learner, batch, step, slot, std::move(done));
    }
    Outcome synchronise(std::size_t first, std::size_t count, float momentum,
                        const Exchange& exchange) override {
        return sound_.synchronise(first, count, momentum, exchange);
    }
    void throw_if_failed() override {
        if (lost) throw std::runtime_error("the device has failed");
    }
    void settle() noexcept override {
        ++settled;
        batch_was_there = batch_of_lost == nullptr || batch_of_lost->number == number_of_lost;
        sound_.settle();
    }
    std::vector<float> central() override { return sound_.central(); }
    std::vector<float> weights(int learner) override { return sound_.weights(learner); }
    void restart(std::span<const float> now, std::span<const float> previous) override {
        sound_.restart(now, previous);
    }

    int fails_at = -1;
    int lost_at = -1;
    int starts = 0;
    int settled = 0;
    Done lost;
    const InputBatch* batch_of_lost = nullptr;
    std::int64_t number_of_lost = -1;
    bool batch_was_there = false;

private:
    LearnerDevice& sound_;
};

}  // namespace

TEST_CASE("learner engine: an error leaves a quiet device, and a late task finds no dead run",
          "[learners]") {
    const bool batched = GENERATE(false, true);
    CAPTURE(batched);
    const DataSet data = learner_data();
    const auto model = make_model({.kind = "mlp", .hidden = {5}}, data);
    const auto first = model->initial_weights(9);
    const auto make = batched ? studies::make_cpu_batched_device : make_cpu_device;
    const auto sound = make(*model, data.features, data.classes, first);
    FaultyDevice device(*sound);
    InputPipeline input(data, {.batch = 4, .threads = 1, .ready_most = 6, .seed = 5, .change = {}},
                        plain_memory);
    bool exchange_fails = false;
    EngineSettings settings;
    settings.learners_per_gpu = 3;
    settings.binding = Binding::fixed;
    settings.step = usual;
    settings.exchange = [&](std::span<float>) {
        if (exchange_fails) throw std::runtime_error("no way out");
        return Outcome::ok;
    };
    LearnerEngine engine(device, input, settings);
    CHECK(engine.run(2).clocks == 2);
    CHECK(device.settled == 0);
    const std::vector<float> before = device.central();
    SECTION("a task that does not start, after one whose end comes late") {
        device.lost_at = device.starts + 1;
        device.fails_at = device.starts + 2;
        CHECK_THROWS_WITH(engine.run(1), "cannot start");
        REQUIRE(device.lost);
        CHECK(device.batch_was_there);
        std::exchange(device.lost, nullptr)({1, 1});  // nobody counts it
    }
    SECTION("an end that never comes, of a device that has failed") {
        device.lost_at = device.starts + 1;
        CHECK_THROWS_WITH(engine.run(1), "the device has failed");
        device.lost = nullptr;
    }
    SECTION("an exchange that throws") {
        exchange_fails = true;
        CHECK_THROWS_WITH(engine.run(1), "no way out");
        exchange_fails = false;
    }
    CHECK(device.settled == 1);
    CHECK(device.central() == before);
    device.fails_at = -1;
    device.lost_at = -1;
    device.restart(first, first);  // and every learner and buffer is free again
    const EngineReport report = engine.run(4);
    CHECK(report.tasks == 12);
    CHECK(report.clocks == 4);
}

TEST_CASE("learner engine: learning goes on while learners average", "[learners]") {
    Rig rig({.learners_per_gpu = 2,
             .slack = 0,
             .binding = Binding::fixed,
             .step = usual,
             .central_momentum = 0,
             .exchange = {}});
    const double at_first = rig.engine.run(6).loss;
    rig.engine.run(60);
    CHECK(rig.engine.run(6).loss < at_first);
}

TEST_CASE("learner engine: tuning goes up while throughput rises, and one step back",
          "[learners]") {
    // A clock by which a window of k learners makes 100, 180, 190, … samples a second.
    const std::vector<double> samples_per_s{100, 180, 190, 195};
    std::chrono::nanoseconds now{};
    bool ends = false;
    const LearnerEngine* engine = nullptr;
    const auto clock = [&] {
        if (ends) {
            const int learners = engine->learners_per_gpu();
            const double samples = 4.0 * learners * 8;
            const double s = samples / samples_per_s.at(static_cast<std::size_t>(learners - 1));
            now += std::chrono::nanoseconds(std::llround(s * 1e9));
        }
        ends = !ends;
        return now;
    };
    Rig rig({.learners_per_gpu = 1,
             .slack = 0,
             .binding = Binding::first_come,
             .step = usual,
             .central_momentum = 0,
             .exchange = {}},
            8, clock);
    engine = &rig.engine;
    const auto windows = tune_learners(rig.engine, LearnerTuning(8), 4);
    REQUIRE(windows.size() == 3);  // 180 is 80 % above 100, 190 is 6 % above 180
    CHECK(windows[0].samples_per_s == Approx(100));
    CHECK(windows[2].learners == 3);
    CHECK(rig.engine.learners_per_gpu() == 2);
}
