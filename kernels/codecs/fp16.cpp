// fp16.cpp — half precision on the wire and in its sums, as an all-reduce of halves adds them.
//
// Each addition rounds to half. There is no loss scaling: a sum above 65,504 becomes infinite.
#include "kernels/codecs/wire.hpp"
#include "kernels/half.hpp"

namespace ukemi::kernels {
namespace {

class Fp16 final : public TensorCodec {
public:
    explicit Fp16(const CodecMember& member)
        : ranks_(static_cast<float>(member.ranks)),
          mean_(static_cast<std::size_t>(member.shape.elements())),
          own_(mean_.size()) {}

    void encode(std::size_t, std::int64_t, std::span<const float> gradient,
                std::span<std::byte> message) override {
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            own_[i] = to_half(gradient[i]);
            wire::put(message, i, own_[i]);
        }
    }
    void combined(std::size_t, std::span<const std::byte> result) override {
        for (std::size_t i = 0; i < mean_.size(); ++i) {
            mean_[i] = from_half(wire::get<std::uint16_t>(result, i)) / ranks_;
        }
    }
    void decode(std::span<float> mean) override { std::ranges::copy(mean_, mean.begin()); }
    void contribution(std::span<float> arrived) const override {
        for (std::size_t i = 0; i < own_.size(); ++i) arrived[i] = from_half(own_[i]);
    }

private:
    float ranks_;
    std::vector<float> mean_;
    std::vector<std::uint16_t> own_;
};

}  // namespace

CodecLayout fp16_layout(double, const TensorShape& shape, int) {
    const std::int64_t elements = shape.elements();
    return {.rounds = {{Combination::sum, WireElement::half, elements}},
            .operations = {.encode = elements, .decode = 2 * elements}};
}

std::unique_ptr<TensorCodec> make_fp16(const CodecSettings&, const CodecMember& member) {
    return std::make_unique<Fp16>(member);
}

}  // namespace ukemi::kernels
