// random_k.cpp — k elements that all ranks choose alike, from a common stream: nothing about their
// places is sent, and their sum is an all-reduce of k numbers.
//
// The tensor is cut into k strata of (nearly) equal size and one element of each is drawn. An
// element's chance is 1 ÷ its stratum's size n, k/d where k divides d; so sums of k kept elements
// times n are unbiased, with E‖Q(v) − v‖² = Σ (n_i − 1) v_i²: (d/k − 1)‖v‖², as for k drawn from
// all. Strata keep places distinct and ascending, need one draw each and no shuffle. With error
// feedback values are sent as they are: then ‖C(v) − v‖² = (1 − k/d)‖v‖² in the mean.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/codecs/wire.hpp"
#include "kernels/element_draws.hpp"
#include "kernels/element_rules.hpp"

namespace ukemi::kernels {
namespace {

class RandomK final : public TensorCodec {
public:
    RandomK(const CodecSettings& settings, const CodecMember& member)
        : unbiased_(!settings.error_feedback && !settings.rest_kept),
          ranks_(static_cast<float>(member.ranks)),
          elements_(member.shape.elements()),
          key_(key_of(settings.seed, fmt::format("codec/random_k/tensor/{}", member.tensor))),
          places_(static_cast<std::size_t>(wire::kept_of(settings.level, elements_))),
          own_(places_.size()),
          mean_(places_.size()) {}

    void encode(std::size_t, std::int64_t step, std::span<const float> gradient,
                std::span<std::byte> message) override {
        const auto kept = static_cast<std::int64_t>(places_.size());
        for_each_draw(key_, static_cast<std::uint64_t>(step), places_.size(),
                      [&](std::size_t k, std::uint32_t word) {
                          const auto [begin, end] =
                              stratum_of(static_cast<std::int64_t>(k), kept, elements_);
                          places_[k] = static_cast<std::size_t>(pick_of(word, begin, end - begin));
                          const float times = unbiased_ ? static_cast<float>(end - begin) : 1.0F;
                          own_[k] = times * gradient[places_[k]];
                      });
        std::ranges::copy(std::as_bytes(std::span(own_)), message.begin());
    }
    void combined(std::size_t, std::span<const std::byte> result) override {
        for (std::size_t k = 0; k < mean_.size(); ++k) {
            mean_[k] = wire::get<float>(result, k) / ranks_;
        }
    }
    void decode(std::span<float> mean) override { spread(mean_, mean); }
    void contribution(std::span<float> arrived) const override { spread(own_, arrived); }

private:
    void spread(std::span<const float> values, std::span<float> out) const {
        std::ranges::fill(out, 0.0F);
        for (std::size_t k = 0; k < places_.size(); ++k) out[places_[k]] = values[k];
    }

    bool unbiased_;
    float ranks_;
    std::int64_t elements_;
    DrawKey key_;
    std::vector<std::size_t> places_;
    std::vector<float> own_;
    std::vector<float> mean_;
};

}  // namespace

CodecLayout random_k_layout(double level, const TensorShape& shape, int) {
    const std::int64_t kept = wire::kept_of(level, shape.elements());
    return {.rounds = {{Combination::sum, WireElement::single, kept}},
            .operations = {.encode = 3 * kept, .decode = kept}};
}

std::unique_ptr<TensorCodec> make_random_k(const CodecSettings& settings,
                                           const CodecMember& member) {
    return std::make_unique<RandomK>(settings, member);
}

}  // namespace ukemi::kernels
