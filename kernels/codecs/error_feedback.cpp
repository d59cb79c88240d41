// error_feedback.cpp — what did not arrive is added to the next gradient.
#include <algorithm>
#include <utility>

#include "base/invariant.hpp"
#include "kernels/codec.hpp"

namespace ukemi::kernels {
namespace {

class ErrorFeedback final : public TensorCodec {
public:
    ErrorFeedback(std::unique_ptr<TensorCodec> inner, std::int64_t elements)
        : inner_(std::move(inner)),
          kept_(static_cast<std::size_t>(elements), 0.0F),
          corrected_(kept_.size()) {}

    void encode(std::size_t round, std::int64_t step, std::span<const float> gradient,
                std::span<std::byte> message) override {
        INVARIANT(gradient.size() == kept_.size());
        if (round == 0) {
            for (std::size_t i = 0; i < kept_.size(); ++i) corrected_[i] = gradient[i] + kept_[i];
        }
        inner_->encode(round, step, corrected_, message);
    }
    void combined(std::size_t round, std::span<const std::byte> result) override {
        inner_->combined(round, result);
    }
    void decode(std::span<float> mean) override {
        inner_->decode(mean);
        inner_->contribution(kept_);
        for (std::size_t i = 0; i < kept_.size(); ++i) kept_[i] = corrected_[i] - kept_[i];
    }
    void contribution(std::span<float> arrived) const override { inner_->contribution(arrived); }
    std::vector<std::span<float>> memory() override {
        std::vector<std::span<float>> all = inner_->memory();
        all.emplace_back(kept_);
        return all;
    }

private:
    std::unique_ptr<TensorCodec> inner_;
    std::vector<float> kept_;
    std::vector<float> corrected_;
};

}  // namespace

std::unique_ptr<TensorCodec> with_error_feedback(std::unique_ptr<TensorCodec> inner,
                                                 std::int64_t elements) {
    return std::make_unique<ErrorFeedback>(std::move(inner), elements);
}

}  // namespace ukemi::kernels
