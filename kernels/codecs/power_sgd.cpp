// power_sgd.cpp — PowerSGD (Vogels et al., arXiv:1905.13727, Alg. 1): one step of a power iteration
// towards the best approximation of rank r, carried out by two all-reduces.
//
// P = M Q, summed over the ranks and made orthonormal; Q = Mᵀ P, averaged; the mean is P Qᵀ. Q is
// kept: the next step starts from it. Wire: r (rows + columns) numbers. Tensors that are no
// matrices, or would not get smaller, go as they are. Error feedback keeps M − P Qᵀ with the common
// P and Q, as the authors' code does: summed over the ranks that is the error made.
//
// Columns of P that depend on the ones before (a gradient of lower rank) become zero; the columns
// of Q that follow from them are drawn anew at the next step, or they would stay zero for ever.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "kernels/codecs/power_sgd.hpp"
#include "kernels/codecs/whole.hpp"
#include "kernels/element_draws.hpp"

namespace ukemi::kernels {

void times(std::span<const float> matrix, std::span<const float> right, std::size_t columns,
           std::size_t rank, std::span<float> out) {
    const std::size_t rows = out.size() / rank;
    for (std::size_t row = 0; row < rows; ++row) {
        const auto sums = out.subspan(row * rank, rank);
        std::ranges::fill(sums, 0.0F);
        for (std::size_t column = 0; column < columns; ++column) {
            const float value = matrix[row * columns + column];
            const float* factor = right.data() + column * rank;
            for (std::size_t k = 0; k < rank; ++k) sums[k] += value * factor[k];
        }
    }
}

void transposed_times(std::span<const float> matrix, std::span<const float> right,
                      std::size_t columns, std::size_t rank, std::span<float> out) {
    const std::size_t rows = right.size() / rank;
    std::ranges::fill(out, 0.0F);
    for (std::size_t row = 0; row < rows; ++row) {
        const float* factor = right.data() + row * rank;
        for (std::size_t column = 0; column < columns; ++column) {
            const float value = matrix[row * columns + column];
            float* sums = out.data() + column * rank;
            for (std::size_t k = 0; k < rank; ++k) sums[k] += value * factor[k];
        }
    }
}

void orthonormalise(std::span<float> columns, std::size_t rank) {
    const std::size_t rows = columns.size() / rank;
    const auto dot = [&](std::size_t a, std::size_t b) {
        double sum = 0;
        for (std::size_t row = 0; row < rows; ++row) {
            sum += static_cast<double>(columns[row * rank + a]) *
                   static_cast<double>(columns[row * rank + b]);
        }
        return sum;
    };
    for (std::size_t k = 0; k < rank; ++k) {
        const double before = dot(k, k);
        for (std::size_t j = 0; j < k; ++j) {
            const auto along = static_cast<float>(dot(j, k));
            for (std::size_t row = 0; row < rows; ++row) {
                columns[row * rank + k] -= along * columns[row * rank + j];
            }
        }
        const double left = dot(k, k);
        // What single precision leaves of a dependent column has no direction, and one over the
        // length of a smaller one is no single number.
        constexpr double dependent = 1e-10;
        constexpr double smallest = 1e-76;
        const bool counts = left > dependent * before && left > smallest && std::isfinite(left);
        const auto scale = counts ? static_cast<float>(1 / std::sqrt(left)) : 0.0F;
        for (std::size_t row = 0; row < rows; ++row) columns[row * rank + k] *= scale;
    }
}

void outer(std::span<const float> left, std::span<const float> right, std::size_t rank,
           std::span<float> out) {
    const std::size_t columns = right.size() / rank;
    for (std::size_t i = 0; i < out.size(); ++i) {
        const float* row = left.data() + i / columns * rank;
        const float* column = right.data() + i % columns * rank;
        float sum = 0;
        for (std::size_t k = 0; k < rank; ++k) sum += row[k] * column[k];
        out[i] = sum;
    }
}

namespace {

std::int64_t rank_of(double level, const TensorShape& shape) {
    return std::min({static_cast<std::int64_t>(level), shape.rows, shape.columns});
}
bool rank_shrinks(const TensorShape& shape, std::int64_t rank) {
    return shape.is_matrix() && rank * (shape.rows + shape.columns) < shape.elements();
}

class PowerSgd final : public TensorCodec {
public:
    PowerSgd(const CodecSettings& settings, const CodecMember& member, std::int64_t rank)
        : ranks_(static_cast<float>(member.ranks)),
          rank_(static_cast<std::size_t>(rank)),
          columns_(static_cast<std::size_t>(member.shape.columns)),
          key_(key_of(settings.seed, fmt::format("codec/power_sgd/tensor/{}", member.tensor))),
          left_(static_cast<std::size_t>(member.shape.rows) * rank_),
          right_(columns_ * rank_, 0.0F) {}

    void encode(std::size_t round, std::int64_t step, std::span<const float> gradient,
                std::span<std::byte> message) override {
        std::vector<float>& product = round == 0 ? left_ : right_;
        if (round == 0) {
            draw_dead_columns(step);
            times(gradient, right_, columns_, rank_, left_);
        } else {
            transposed_times(gradient, left_, columns_, rank_, right_);
        }
        std::ranges::copy(std::as_bytes(std::span(product)), message.begin());
    }
    void combined(std::size_t round, std::span<const std::byte> result) override {
        std::vector<float>& product = round == 0 ? left_ : right_;
        for (std::size_t i = 0; i < product.size(); ++i) {
            product[i] = wire::get<float>(result, i) / ranks_;
        }
        if (round == 0) orthonormalise(left_, rank_);
    }
    void decode(std::span<float> mean) override { outer(left_, right_, rank_, mean); }
    void contribution(std::span<float> arrived) const override {
        outer(left_, right_, rank_, arrived);
    }
    std::vector<std::span<float>> memory() override { return {right_}; }

private:
    // All ranks hold the same Q, and draw the same.
    void draw_dead_columns(std::int64_t step) {
        std::vector<bool> dead(rank_, true);
        for (std::size_t i = 0; i < right_.size(); ++i) {
            if (right_[i] != 0) dead[i % rank_] = false;
        }
        if (std::ranges::find(dead, true) == dead.end()) return;
        for_each_draw(key_, static_cast<std::uint64_t>(step), right_.size(),
                      [&](std::size_t i, std::uint32_t word) {
                          if (dead[i % rank_]) right_[i] = 2 * uniform_of(word) - 1;
                      });
    }

    float ranks_;
    std::size_t rank_;
    std::size_t columns_;
    DrawKey key_;
    std::vector<float> left_;   // P, rows × rank
    std::vector<float> right_;  // Q, columns × rank
};

}  // namespace

CodecLayout power_sgd_layout(double level, const TensorShape& shape, int) {
    const std::int64_t rank = rank_of(level, shape);
    if (!rank_shrinks(shape, rank)) return wire::whole_layout(shape);
    const std::int64_t product = 2 * shape.elements() * rank;
    return {
        .rounds = {{Combination::sum, WireElement::single, rank * shape.rows},
                   {Combination::sum, WireElement::single, rank * shape.columns}},
        .operations = {.encode = 2 * product + 2 * shape.rows * rank * rank, .decode = product}};
}

std::unique_ptr<TensorCodec> make_power_sgd(const CodecSettings& settings,
                                            const CodecMember& member) {
    const std::int64_t rank = rank_of(settings.level, member.shape);
    if (!rank_shrinks(member.shape, rank)) return std::make_unique<WholeGradient>(member);
    return std::make_unique<PowerSgd>(settings, member, rank);
}

}  // namespace ukemi::kernels
