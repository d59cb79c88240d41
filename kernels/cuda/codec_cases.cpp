// codec_cases.cpp — codecs on the device against the codecs of kernels/codecs, as one rank of one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/codec.hpp"
#include "kernels/codecs/power_sgd.hpp"
#include "kernels/codecs/wire.hpp"
#include "kernels/cuda/cases.hpp"
#include "kernels/cuda/fp16.hpp"
#include "kernels/cuda/handles.hpp"
#include "kernels/cuda/noise_step.hpp"
#include "kernels/cuda/power_sgd.hpp"
#include "kernels/cuda/qsgd.hpp"
#include "kernels/cuda/random_k.hpp"
#include "kernels/cuda/top_k.hpp"

namespace ukemi::kernels::cuda {
namespace {

constexpr std::uint64_t seed = 7;
constexpr std::int64_t step = 5;

// What one rank alone decodes with the CPU's codec, and the message it sent.
struct RoundTrip {
    std::vector<std::byte> message;
    std::vector<float> mean;
};
RoundTrip decoded_by(std::string_view name, double level, std::span<const float> gradient) {
    const TensorShape shape{static_cast<std::int64_t>(gradient.size()), 1};
    const auto codec = make_codec(name, {.level = level, .seed = seed}, {.shape = shape});
    const CodecLayout layout = codec_layout(name, level, shape, 1);
    RoundTrip found;
    found.message.resize(static_cast<std::size_t>(layout.message_bytes()));
    found.mean.resize(gradient.size());
    codec->encode(0, step, gradient, found.message);
    codec->combined(0, found.message);
    codec->decode(found.mean);
    return found;
}

std::size_t kept_of(double share, std::size_t count) {
    return static_cast<std::size_t>(wire::kept_of(share, static_cast<std::int64_t>(count)));
}

class Fp16Case final : public Case {
public:
    explicit Fp16Case(std::span<const float> gradient)
        : host_(gradient.begin(), gradient.end()),
          values_(gradient),
          halves_(gradient.size()),
          mean_(gradient.size()) {}
    std::int64_t bytes() const override { return static_cast<std::int64_t>(12 * host_.size()); }
    void run(cudaStream_t stream) override {
        check(launch_to_half(values_.data(), host_.size(), halves_.data(), stream));
        check(launch_from_half(halves_.data(), host_.size(), 1, mean_.data(), stream));
    }
    std::string mismatch(cudaStream_t stream) override {
        run(stream);
        const RoundTrip expected = decoded_by("fp16", 0, host_);
        check(cudaStreamSynchronize(stream));
        return difference_of_bits("mean", mean_.read(), expected.mean);
    }

private:
    std::vector<float> host_;
    Buffer<float> values_;
    Buffer<std::uint16_t> halves_;
    Buffer<float> mean_;
};

class RandomKCase final : public Case {
public:
    explicit RandomKCase(std::span<const float> gradient)
        : host_(gradient.begin(), gradient.end()),
          places_{.elements = gradient.size(),
                  .kept = kept_of(share, gradient.size()),
                  .key = key_of(seed, "codec/random_k/tensor/0"),
                  .step = step},
          values_(gradient),
          kept_(places_.kept),
          mean_(gradient.size()) {}
    // Kept numbers are read and written twice, each with its own line of 32 bytes where it is
    // gathered or spread; the zeros once.
    std::int64_t bytes() const override {
        return static_cast<std::int64_t>(4 * host_.size() + (2 * 4 + 32 + 64) * places_.kept);
    }
    void run(cudaStream_t stream) override {
        check(launch_random_k_gather(places_, true, values_.data(), kept_.data(), stream));
        check(launch_random_k_spread(places_, kept_.data(), 1, mean_.data(), stream));
    }
    std::string mismatch(cudaStream_t stream) override {
        run(stream);
        const RoundTrip expected = decoded_by("random_k", share, host_);
        check(cudaStreamSynchronize(stream));
        return difference_of_bits("mean", mean_.read(), expected.mean);
    }

private:
    static constexpr double share = 0.01;
    std::vector<float> host_;
    RandomKPlaces places_;
    Buffer<float> values_;
    Buffer<float> kept_;
    Buffer<float> mean_;
};

class TopKCase final : public Case {
public:
    explicit TopKCase(std::span<const float> gradient)
        : host_(gradient.begin(), gradient.end()),
          kept_(kept_of(share, gradient.size())),
          values_(gradient),
          workspace_(top_k_workspace(gradient.size())),
          places_(kept_),
          kept_values_(kept_) {}
    // Once would do for an algorithm that knew the k-th magnitude.
    std::int64_t bytes() const override {
        return static_cast<std::int64_t>(4 * host_.size() + 8 * kept_);
    }
    void run(cudaStream_t stream) override {
        check(launch_top_k(values_.data(), host_.size(), kept_, workspace_.data(), places_.data(),
                           kept_values_.data(), stream));
    }
    std::string mismatch(cudaStream_t stream) override {
        run(stream);
        const RoundTrip expected = decoded_by("top_k", share, host_);
        Buffer<float> mean(std::vector<float>(host_.size(), 0.0F));
        check(
            launch_add_places(places_.data(), kept_values_.data(), kept_, 1, mean.data(), stream));
        check(cudaStreamSynchronize(stream));
        const std::vector<std::int32_t> places = places_.read();
        for (std::size_t k = 0; k < kept_; ++k) {
            const auto right = wire::get<std::int32_t>(expected.message, k);
            if (places[k] != right) {
                return fmt::format("place {} is {}, expected {}", k, places[k], right);
            }
        }
        return difference_of_bits("mean", mean.read(), expected.mean);
    }

private:
    static constexpr double share = 0.01;
    std::vector<float> host_;
    std::size_t kept_;
    Buffer<float> values_;
    Buffer<std::uint32_t> workspace_;
    Buffer<std::int32_t> places_;
    Buffer<float> kept_values_;
};

class QsgdCase final : public Case {
public:
    explicit QsgdCase(std::span<const float> gradient)
        : host_(gradient.begin(), gradient.end()),
          key_(key_of(seed, "codec/qsgd/tensor/0/rank/0")),
          values_(gradient),
          workspace_(noise_step_workspace(1, gradient.size()) + 1),
          norm_(1),
          quantised_(gradient.size()),
          mean_(gradient.size()) {}
    // The norm, the levels, the mean.
    std::int64_t bytes() const override { return static_cast<std::int64_t>(14 * host_.size()); }
    void run(cudaStream_t stream) override {
        check(launch_norm(values_.data(), host_.size(), workspace_.data(), norm_.data(), stream));
        quantise_and_back(stream);
    }
    std::string mismatch(cudaStream_t stream) override {
        const RoundTrip expected = decoded_by("qsgd", levels, host_);
        const auto norm = wire::get<float>(expected.message, 0);
        run(stream);
        check(cudaStreamSynchronize(stream));
        const float found = norm_.read().front();
        if (!(std::abs(found - norm) <= 1.2e-7F * norm)) {  // one unit in the last place
            return fmt::format("norm is {:a}, expected {:a}", found, norm);
        }
        norm_.fill(std::span(&norm, 1));
        quantise_and_back(stream);
        check(cudaStreamSynchronize(stream));
        return difference_of_bits("mean", mean_.read(), expected.mean);
    }

private:
    static constexpr int levels = 64;
    void quantise_and_back(cudaStream_t stream) {
        check(launch_quantise(values_.data(), host_.size(), norm_.data(), levels, key_, step,
                              quantised_.data(), stream));
        check(launch_mean_of_levels(quantised_.data(), norm_.data(), 1, host_.size(), levels,
                                    mean_.data(), stream));
    }
    std::vector<float> host_;
    DrawKey key_;
    Buffer<float> values_;
    Buffer<double> workspace_;
    Buffer<float> norm_;
    Buffer<std::int8_t> quantised_;
    Buffer<float> mean_;
};

// As nearly square as the gradient allows; what is over is left out.
MatrixSize matrix_of(std::size_t count) {
    const auto columns = static_cast<std::size_t>(std::sqrt(static_cast<double>(count)));
    const std::size_t wide = std::max<std::size_t>(columns, 1);
    return {.rows = count / wide, .columns = wide, .rank = std::min<std::size_t>(4, wide)};
}

class PowerSgdCase final : public Case {
public:
    explicit PowerSgdCase(std::span<const float> gradient)
        : size_(matrix_of(gradient.size())),
          host_(gradient.begin(),
                gradient.begin() + static_cast<std::ptrdiff_t>(size_.rows * size_.columns)),
          start_(made_gradient("right", size_.columns * size_.rank)),
          matrix_(host_),
          left_(size_.rows * size_.rank),
          right_(start_),
          workspace_(power_sgd_workspace(size_)),
          mean_(host_.size()) {}
    std::int64_t bytes() const override { return static_cast<std::int64_t>(12 * host_.size()); }
    void run(cudaStream_t stream) override {
        check(launch_times(size_, matrix_.data(), right_.data(), left_.data(), stream));
        check(launch_orthonormalise(size_.rows, size_.rank, left_.data(), stream));
        check(launch_transposed_times(size_, matrix_.data(), left_.data(), workspace_.data(),
                                      right_.data(), stream));
        check(launch_outer(size_, left_.data(), right_.data(), mean_.data(), stream));
    }
    // Each step from the same inputs, so that errors do not add up to an excuse.
    std::string mismatch(cudaStream_t stream) override {
        const std::size_t rank = size_.rank;
        std::vector<float> left(left_.size());
        std::vector<float> right(right_.size());
        right_.fill(start_);
        check(launch_times(size_, matrix_.data(), right_.data(), left_.data(), stream));
        check(cudaStreamSynchronize(stream));
        times(host_, start_, size_.columns, rank, left);
        std::string found = difference_beyond("P", left_.read(), left, 1e-4);
        left_.fill(left);
        check(launch_orthonormalise(size_.rows, rank, left_.data(), stream));
        check(cudaStreamSynchronize(stream));
        orthonormalise(left, rank);
        if (found.empty()) found = difference_beyond("orthonormal P", left_.read(), left, 1e-4);
        left_.fill(left);
        check(launch_transposed_times(size_, matrix_.data(), left_.data(), workspace_.data(),
                                      right_.data(), stream));
        check(cudaStreamSynchronize(stream));
        transposed_times(host_, left, size_.columns, rank, right);
        if (found.empty()) found = difference_beyond("Q", right_.read(), right, 1e-4);
        right_.fill(right);
        check(launch_outer(size_, left_.data(), right_.data(), mean_.data(), stream));
        check(cudaStreamSynchronize(stream));
        std::vector<float> mean(host_.size());
        outer(left, right, rank, mean);
        return found.empty() ? difference_of_bits("mean", mean_.read(), mean) : found;
    }

private:
    MatrixSize size_;
    std::vector<float> host_;
    std::vector<float> start_;
    Buffer<float> matrix_;
    Buffer<float> left_;
    Buffer<float> right_;
    Buffer<float> workspace_;
    Buffer<float> mean_;
};

}  // namespace

std::unique_ptr<Case> make_fp16_case(std::span<const float> gradient) {
    return std::make_unique<Fp16Case>(gradient);
}
std::unique_ptr<Case> make_random_k_case(std::span<const float> gradient) {
    return std::make_unique<RandomKCase>(gradient);
}
std::unique_ptr<Case> make_top_k_case(std::span<const float> gradient) {
    return std::make_unique<TopKCase>(gradient);
}
std::unique_ptr<Case> make_qsgd_case(std::span<const float> gradient) {
    return std::make_unique<QsgdCase>(gradient);
}
std::unique_ptr<Case> make_power_sgd_case(std::span<const float> gradient) {
    return std::make_unique<PowerSgdCase>(gradient);
}

}  // namespace ukemi::kernels::cuda
