// update_cases.cpp — optimiser steps, averaging and norms against their references.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/averaging.hpp"
#include "kernels/cuda/averaging.hpp"
#include "kernels/cuda/cases.hpp"
#include "kernels/cuda/handles.hpp"
#include "kernels/cuda/momentum.hpp"
#include "kernels/cuda/noise_step.hpp"
#include "kernels/noise_step.hpp"

namespace ukemi::kernels::cuda {
namespace {

constexpr MomentumRule rule{.momentum = 0.9F, .weight_decay = 1e-4F, .rate = 0.1F};
constexpr float pull = 0.25F;
constexpr std::size_t learner_count = 4;

std::int64_t bytes_of(std::size_t numbers) { return static_cast<std::int64_t>(4 * numbers); }

// So many vectors of one length, one after the other, the gradient among them.
std::vector<float> made_vectors(std::string_view name, std::size_t vectors,
                                std::span<const float> gradient) {
    std::vector<float> values = made_gradient(name, vectors * gradient.size());
    std::ranges::copy(gradient, values.begin());
    return values;
}

std::string first_of(std::initializer_list<std::string> differences) {
    for (const std::string& each : differences) {
        if (!each.empty()) return each;
    }
    return {};
}

class MomentumCase final : public Case {
public:
    explicit MomentumCase(std::span<const float> gradient)
        : start_(made_gradient("weights", gradient.size())),
          gradient_host_(gradient.begin(), gradient.end()),
          gradient_(gradient),
          weights_(gradient.size()),
          velocity_(gradient.size()) {}
    std::int64_t bytes() const override { return bytes_of(5 * start_.size()); }
    void run(cudaStream_t stream) override {
        check(launch_momentum_step(rule, gradient_.data(), weights_.data(), velocity_.data(),
                                   start_.size(), stream));
    }
    std::string mismatch(cudaStream_t stream) override {
        std::vector<float> weights = start_;
        std::vector<float> velocity = start_;
        weights_.fill(weights);
        velocity_.fill(velocity);
        for (int step = 0; step < 2; ++step) {
            run(stream);
            local_step(rule, gradient_host_, weights, velocity);
        }
        check(cudaStreamSynchronize(stream));
        return first_of({difference_of_bits("weights", weights_.read(), weights),
                         difference_of_bits("velocity", velocity_.read(), velocity)});
    }

private:
    std::vector<float> start_;
    std::vector<float> gradient_host_;
    Buffer<float> gradient_;
    Buffer<float> weights_;
    Buffer<float> velocity_;
};

class LearnersCase final : public Case {
public:
    explicit LearnersCase(std::span<const float> gradient)
        : count_(gradient.size()),
          gradients_host_(made_vectors("gradients", learner_count, gradient)),
          start_(made_gradient("learners", learner_count * count_)),
          gradients_(gradients_host_),
          weights_(start_.size()),
          velocities_(start_.size()),
          central_(gradient),
          sum_(count_) {}
    std::int64_t bytes() const override { return bytes_of((2 + 5 * learner_count) * count_); }
    void run(cudaStream_t stream) override {
        check(launch_averaged_learners(rule, pull, central_.data(), gradients_.data(),
                                       weights_.data(), velocities_.data(), learner_count, count_,
                                       sum_.data(), stream));
    }
    std::string mismatch(cudaStream_t stream) override {
        std::vector<float> weights = start_;
        std::vector<float> velocities = gradients_host_;
        weights_.fill(weights);
        velocities_.fill(velocities);
        run(stream);
        std::vector<float> sum(count_, 0.0F);
        const std::vector<float> central = central_.read();
        for (std::size_t j = 0; j < learner_count; ++j) {
            const auto part = [&](std::vector<float>& of) {
                return std::span(of).subspan(j * count_, count_);
            };
            averaged_learner_step(rule, pull, central, part(gradients_host_), part(weights),
                                  part(velocities), sum);
        }
        check(cudaStreamSynchronize(stream));
        return first_of({difference_of_bits("weights", weights_.read(), weights),
                         difference_of_bits("velocities", velocities_.read(), velocities),
                         difference_of_bits("corrections", sum_.read(), sum)});
    }

private:
    std::size_t count_;
    std::vector<float> gradients_host_;
    std::vector<float> start_;
    Buffer<float> gradients_;
    Buffer<float> weights_;
    Buffer<float> velocities_;
    Buffer<float> central_;
    Buffer<float> sum_;
};

class CentralCase final : public Case {
public:
    explicit CentralCase(std::span<const float> gradient)
        : start_(made_gradient("central", gradient.size())),
          sum_host_(gradient.begin(), gradient.end()),
          sum_(gradient),
          central_(start_),
          previous_(start_) {}
    std::int64_t bytes() const override { return bytes_of(5 * start_.size()); }
    void run(cudaStream_t stream) override {
        check(launch_central_step(sum_.data(), 0.9F, central_.data(), previous_.data(),
                                  start_.size(), stream));
    }
    std::string mismatch(cudaStream_t stream) override {
        CentralModel expected(start_);
        central_.fill(start_);
        previous_.fill(start_);
        for (int step = 0; step < 3; ++step) {
            run(stream);
            expected.step(sum_host_, 0.9F);
        }
        check(cudaStreamSynchronize(stream));
        return difference_of_bits("central", central_.read(), expected.weights());
    }

private:
    std::vector<float> start_;
    std::vector<float> sum_host_;
    Buffer<float> sum_;
    Buffer<float> central_;
    Buffer<float> previous_;
};

class MeanCase final : public Case {
public:
    explicit MeanCase(std::span<const float> gradient)
        : count_(gradient.size()),
          host_(made_vectors("replicas", learner_count, gradient)),
          replicas_(host_),
          mean_(count_) {}
    std::int64_t bytes() const override { return bytes_of((1 + learner_count) * count_); }
    void run(cudaStream_t stream) override {
        check(
            launch_mean_of_replicas(replicas_.data(), learner_count, count_, mean_.data(), stream));
    }
    std::string mismatch(cudaStream_t stream) override {
        run(stream);
        std::vector<std::span<const float>> parts;
        for (std::size_t k = 0; k < learner_count; ++k) {
            parts.push_back(std::span(host_).subspan(k * count_, count_));
        }
        std::vector<float> expected(count_);
        mean_of_replicas(parts, expected);
        check(cudaStreamSynchronize(stream));
        return difference_of_bits("mean", mean_.read(), expected);
    }

private:
    std::size_t count_;
    std::vector<float> host_;
    Buffer<float> replicas_;
    Buffer<float> mean_;
};

std::string difference_of_norms(std::span<const double> found, std::span<const double> expected) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double off = found[i] - expected[i];
        if (!(off <= 1e-11 * expected[i] && -off <= 1e-11 * expected[i])) {
            return fmt::format("norm {} is {}, expected {}", i, found[i], expected[i]);
        }
    }
    return {};
}

class NoiseStepCase final : public Case {
public:
    explicit NoiseStepCase(std::span<const float> gradient)
        : count_(gradient.size()),
          gradients_host_(made_vectors("gradients", learner_count, gradient)),
          start_(made_gradient("weights", count_)),
          gradients_(gradients_host_),
          weights_(start_),
          velocity_(start_),
          workspace_(noise_step_workspace(learner_count, count_)),
          norms_(learner_count + 1) {}
    std::int64_t bytes() const override { return bytes_of((4 + learner_count) * count_); }
    void run(cudaStream_t stream) override {
        check(launch_noise_step(rule, gradients_.data(), learner_count, count_, weights_.data(),
                                velocity_.data(), workspace_.data(), norms_.data(), stream));
    }
    std::string mismatch(cudaStream_t stream) override {
        std::vector<float> weights = start_;
        std::vector<float> velocity = start_;
        weights_.fill(weights);
        velocity_.fill(velocity);
        run(stream);
        StepNorms norms = noise_step(rule, gradients_host_, weights, velocity);
        norms.learners.resize(learner_count);  // no elements say nothing of learners
        norms.learners.push_back(norms.mean);
        check(cudaStreamSynchronize(stream));
        return first_of({difference_of_bits("weights", weights_.read(), weights),
                         difference_of_bits("velocity", velocity_.read(), velocity),
                         difference_of_norms(norms_.read(), norms.learners)});
    }

private:
    std::size_t count_;
    std::vector<float> gradients_host_;
    std::vector<float> start_;
    Buffer<float> gradients_;
    Buffer<float> weights_;
    Buffer<float> velocity_;
    Buffer<double> workspace_;
    Buffer<double> norms_;
};

class SquaredNormCase final : public Case {
public:
    explicit SquaredNormCase(std::span<const float> gradient)
        : host_(gradient.begin(), gradient.end()),
          values_(gradient),
          workspace_(noise_step_workspace(1, gradient.size())),
          norm_(1) {}
    std::int64_t bytes() const override { return bytes_of(host_.size()); }
    void run(cudaStream_t stream) override {
        check(launch_squared_norm(values_.data(), host_.size(), workspace_.data(), norm_.data(),
                                  stream));
    }
    std::string mismatch(cudaStream_t stream) override {
        run(stream);
        double expected = 0;
        for (const float value : host_) {
            expected += static_cast<double>(value) * static_cast<double>(value);
        }
        check(cudaStreamSynchronize(stream));
        return difference_of_norms(norm_.read(), std::span(&expected, 1));
    }

private:
    std::vector<float> host_;
    Buffer<float> values_;
    Buffer<double> workspace_;
    Buffer<double> norm_;
};

}  // namespace

std::unique_ptr<Case> make_momentum_case(std::span<const float> gradient) {
    return std::make_unique<MomentumCase>(gradient);
}
std::unique_ptr<Case> make_learners_case(std::span<const float> gradient) {
    return std::make_unique<LearnersCase>(gradient);
}
std::unique_ptr<Case> make_central_case(std::span<const float> gradient) {
    return std::make_unique<CentralCase>(gradient);
}
std::unique_ptr<Case> make_mean_case(std::span<const float> gradient) {
    return std::make_unique<MeanCase>(gradient);
}
std::unique_ptr<Case> make_noise_step_case(std::span<const float> gradient) {
    return std::make_unique<NoiseStepCase>(gradient);
}
std::unique_ptr<Case> make_squared_norm_case(std::span<const float> gradient) {
    return std::make_unique<SquaredNormCase>(gradient);
}

}  // namespace ukemi::kernels::cuda
