// main.cpp — a training loop of one's own, adapted by ukemi's policies.
//
// What is trained is a toy: logistic regression on samples drawn from a random teacher, by workers
// that are only loops in this process, on a clock that is only counted. What is around it is what a
// real loop needs: report each step, carry out each Plan or say why not, save when it is time, and
// say so when a machine was lost. Everything is a function of the seed: the same run each time.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <vector>

#include "base/exact_math.hpp"
#include "base/read_file.hpp"
#include "base/rng.hpp"
#include "policies/training_loop.hpp"
#include "records/decision_log.hpp"

namespace {

using namespace ukemi;
using namespace ukemi::policies;
using namespace ukemi::records;
using Vector = std::vector<double>;

constexpr std::size_t features = 20;
constexpr std::int64_t samples_per_epoch = 8192;
constexpr std::int64_t epochs = 8;
constexpr std::uint64_t seed = 7;

double dot(const Vector& a, const Vector& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

struct Sample {
    Vector x;
    double label = 0;  // 0 or 1
};

// Labels by a random plane, one in twenty of them wrong.
std::vector<Sample> make_data() {
    RandomStream random(seed, "example/data");
    Vector teacher(features);
    for (double& weight : teacher) weight = random.normal(0, 1);
    std::vector<Sample> data(samples_per_epoch);
    for (Sample& sample : data) {
        sample.x.resize(features);
        for (double& value : sample.x) value = random.normal(0, 1);
        sample.label = (dot(teacher, sample.x) > 0) != random.chance(0.05) ? 1 : 0;
    }
    return data;
}

struct Gradient {
    Vector mean = Vector(features, 0.0);  // over the samples of one worker, or of all
    double loss = 0;
};

// The share of one worker: samples [begin, begin + count) of the training, epoch after epoch.
Gradient gradient_of(const Vector& weights, const std::vector<Sample>& data, std::int64_t begin,
                     std::int64_t count) {
    Gradient gradient;
    const double share = 1 / static_cast<double>(count);
    for (std::int64_t at = begin; at < begin + count; ++at) {
        const Sample& sample = data[static_cast<std::size_t>(at % samples_per_epoch)];
        const double probability = 1 / (1 + exact::exp(-dot(weights, sample.x)));
        const double of_label = sample.label > 0 ? probability : 1 - probability;
        gradient.loss -= share * exact::log(std::max(of_label, 1e-12));
        for (std::size_t i = 0; i < features; ++i) {
            gradient.mean[i] += share * (probability - sample.label) * sample.x[i];
        }
    }
    return gradient;
}

// McCandlish et al. 2018, appendix A.1: |G|² and tr Σ from the gradients of small batches and of
// the whole one, each smoothed before the ratio is taken.
class NoiseScale {
public:
    GradientStatistics update(double small_norm, double small, double large_norm, double large) {
        if (large > small) {
            smooth(squared_norm_, (large * large_norm - small * small_norm) / (large - small));
            smooth(trace_, (small_norm - large_norm) / (1 / small - 1 / large));
            first_ = false;
        }
        const double noise_scale = squared_norm_ > 0 ? trace_ / squared_norm_ : 0;
        return {squared_norm_, trace_, noise_scale};
    }

private:
    void smooth(double& value, double next) const {
        value = first_ ? next : 0.95 * value + 0.05 * next;
    }
    bool first_ = true;
    double squared_norm_ = 0;
    double trace_ = 0;
};

class ToyTraining {
public:
    // One synchronous step of all workers.
    FinishedStep step(const Plan& plan, std::int64_t position) {
        const std::int32_t workers = plan.workers_max;
        const std::int64_t batch = plan.batch_per_learner;
        Gradient all;
        double small_norm = 0;
        for (std::int32_t rank = 0; rank < workers; ++rank) {
            const Gradient own = gradient_of(weights_, data_, position + rank * batch, batch);
            small_norm += dot(own.mean, own.mean) / workers;
            all.loss += own.loss / workers;
            for (std::size_t i = 0; i < features; ++i) all.mean[i] += own.mean[i] / workers;
        }
        for (std::size_t i = 0; i < features; ++i) {
            weights_[i] -= plan.learning_rate * all.mean[i];
        }
        FinishedStep done;
        // 50 us a sample, and a ring of messages of a millisecond each.
        done.duration = batch * nanoseconds(50'000) + 2 * (workers - 1) * milliseconds(1);
        clock_ = clock_ + done.duration;
        done.now = clock_;
        done.workers = workers;
        done.loss = all.loss;
        const auto small = static_cast<double>(batch);
        done.gradient = noise_.update(small_norm, small, dot(all.mean, all.mean), small * workers);
        return done;
    }

    Instant now() const { return clock_; }
    // It takes a while to get a machine, and to give the model to it.
    void resize() { clock_ = clock_ + whole_seconds(2); }
    void save() {
        saved_ = weights_;
        clock_ = clock_ + milliseconds(100);
    }
    void restore() {
        weights_ = saved_;
        clock_ = clock_ + whole_seconds(5);
    }
    double accuracy() const {
        std::int64_t right = 0;
        for (const Sample& sample : data_) {
            right += (dot(weights_, sample.x) > 0) == (sample.label > 0);
        }
        return static_cast<double>(right) / static_cast<double>(data_.size());
    }

private:
    std::vector<Sample> data_ = make_data();
    Vector weights_ = Vector(features, 0.0);
    Vector saved_ = weights_;
    NoiseScale noise_;
    Instant clock_;
};

TrainingLoopSetup make_setup() {
    TrainingLoopSetup setup;
    setup.policies = R"({"policies": [{"name": "noise_scale_resize"},
                                      {"name": "periodic_checkpoint", "interval": "2 s"}]})";
    setup.plan.fleet = {{ZoneId{0}, 0, Market::on_demand, 2, {}}};
    setup.plan.workers_max = 2;
    setup.plan.batch_per_learner = 32;
    setup.plan.learning_rate = 0.2;
    setup.capabilities.world = "toy training loop";
    setup.capabilities.knobs = {Knob::count, Knob::workers, Knob::checkpoint_interval};
    setup.capabilities.instances_max = 8;
    setup.samples_total = epochs * samples_per_epoch;
    setup.samples_per_epoch = samples_per_epoch;
    setup.seed = seed;
    return setup;
}

void train(const std::filesystem::path& log_file) {
    TrainingLoopSetup setup = make_setup();
    DecisionLog log(log_header_of(setup, "own_training_loop"));
    setup.log = &log;
    TrainingLoop loop(setup);
    ToyTraining toy;
    double loss = 0;
    bool machine_lost = false;

    auto plan = loop.start(toy.now());
    while (true) {
        while (plan) {
            if (plan->workers_max != loop.plan().workers_max) toy.resize();
            plan = loop.committed(toy.now());
        }
        if (loop.finished()) break;
        const FinishedStep step = toy.step(loop.plan(), loop.samples_done());
        loss = step.loss;
        plan = loop.step(step);
        if (loop.checkpoint_due()) {
            toy.save();
            loop.saved();
        }
        if (!plan && !machine_lost && step.now > Instant::at(whole_seconds(8))) {
            machine_lost = true;  // and with it the model
            toy.restore();
            plan = loop.rolled_back(toy.now());
        }
    }
    loop.stop(toy.now());
    write_file_atomically(log_file, log.text());
    fmt::print("{} steps, {} samples, {:.1f} s; loss {:.3f}, accuracy {:.3f}\n", loop.steps_done(),
               loop.samples_done(), to_seconds(toy.now().since_start()), loss, toy.accuracy());
    fmt::print("{} workers at the end, {} Plans; {}\n", loop.plan().workers_max,
               index_of(loop.plan().version), log_file.string());
}

}  // namespace

int main(int argc, char** argv) {
    try {
        train(argc > 1 ? argv[1] : "decisions.jsonl");
        return 0;
    } catch (const std::exception& error) {
        std::fputs(fmt::format("own_training_loop: {}\n", error.what()).c_str(), stderr);
        return 1;
    }
}
