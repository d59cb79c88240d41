// cost_curve.cpp — four forms of one question.
#include "sim/cluster/cost_curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/input_error.hpp"
#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

void require_times(std::initializer_list<double> times, std::string_view where) {
    double sum = 0;
    for (const double seconds : times) {
        if (!std::isfinite(seconds) || seconds < 0) {
            throw InputError(where, "",
                             fmt::format("expected times of at least 0 s, found {}", seconds));
        }
        sum += seconds;
    }
    if (!(sum > 0)) throw InputError(where, "", "no step would take any time");
}

}  // namespace

CostCurve CostCurve::affine(double fixed_s, double seconds_a_sample, std::string_view where) {
    return floored(0, fixed_s, seconds_a_sample, where);
}

CostCurve CostCurve::floored(double floor_s, double fixed_s, double seconds_a_sample,
                             std::string_view where) {
    require_times({floor_s, fixed_s, seconds_a_sample}, where);
    return CostCurve(Affine{floor_s, fixed_s, seconds_a_sample});
}

CostCurve CostCurve::table(std::vector<Point> points, std::string_view where) {
    if (points.empty()) throw InputError(where, "", "expected a table of at least one batch");
    std::int64_t before = 0;
    for (const Point& point : points) {
        if (point.batch <= before) {
            throw InputError(where, "",
                             fmt::format("expected rising batches above 0, found {} after {}",
                                         point.batch, before));
        }
        if (!std::isfinite(point.seconds) || !(point.seconds > 0)) {
            throw InputError(where, "",
                             fmt::format("batch {}: expected a time above 0 s, found {}",
                                         point.batch, point.seconds));
        }
        before = point.batch;
    }
    return CostCurve(Table{std::move(points)});
}

std::int64_t value_bytes(Precision precision) {
    return precision == Precision::fp32 || precision == Precision::tf32 ? 4 : 2;
}

CostCurve CostCurve::roofline(const ModelProfile& model, const GpuProfile& gpu, Precision precision,
                              const RooflineShares& shares, std::string_view where,
                              std::int64_t state_values) {
    if (!(gpu.peak_flops(precision) > 0)) {
        throw InputError(where, "",
                         fmt::format("{} has no {} arithmetic", gpu.name,
                                     precision_names[static_cast<std::size_t>(precision)]));
    }
    for (const double share : {shares.arithmetic, shares.memory}) {
        if (!(share > 0 && share <= 1)) {
            throw InputError(where, "",
                             fmt::format("expected a share above 0, at most 1, found {}", share));
        }
    }
    const double flops = gpu.peak_flops(precision) * shares.arithmetic;
    const bool is_fp8 = precision == Precision::fp8;
    const double wide_share =
        shares.wide_arithmetic > 0 ? shares.wide_arithmetic : shares.arithmetic;
    const double wide_flops = is_fp8 ? gpu.peak_flops(Precision::bf16) * wide_share : flops;
    const double bytes_a_second = gpu.memory_gb_per_s * 1e9 * shares.memory;
    const double bytes = static_cast<double>(value_bytes(precision));
    Roofline roofline;
    for (const LayerCost& layer : model.layers) {
        const double saving = precision == Precision::fp32 ? layer.fp32_saving : 1;
        const double wide = is_fp8 ? layer.wide_flops : 0;
        roofline.layers.push_back(
            {(layer.forward_flops - wide) / saving / flops + wide / wide_flops,
             layer.flops_again / saving / wide_flops,
             static_cast<double>(layer.values_moved) * bytes / bytes_a_second,
             static_cast<double>(layer.parameters) * bytes / bytes_a_second});
    }
    const double launches = model.layers_are_tensors ? 0 : static_cast<double>(model.layers.size());
    // At four bytes each.
    const auto moved = static_cast<double>(3 + 2 * state_values);
    const double update_s = moved * 4 * static_cast<double>(model.parameters()) / bytes_a_second;
    roofline.update_s = update_s;
    roofline.fixed_s = shares.seconds_a_layer * launches + update_s;
    roofline.floor_s = shares.launch_s_a_layer * launches + update_s;
    require_times({roofline.fixed_s, model.forward_flops() / flops}, where);
    return CostCurve(std::move(roofline));
}

double CostCurve::step_seconds(std::int64_t batch) const {
    INVARIANT(batch >= 1);
    const auto m = static_cast<double>(batch);
    if (const auto* affine = std::get_if<Affine>(&form_)) {
        return std::max(affine->floor_s, affine->fixed_s + affine->seconds_a_sample * m);
    }
    if (const auto* table = std::get_if<Table>(&form_)) {
        const std::vector<Point>& points = table->points;
        if (batch <= points.front().batch || points.size() == 1) return points.front().seconds;
        auto right = std::find_if(points.begin() + 1, points.end(),
                                  [&](const Point& point) { return point.batch >= batch; });
        if (right == points.end()) --right;
        const Point& low = *(right - 1);
        const double slope =
            (right->seconds - low.seconds) / static_cast<double>(right->batch - low.batch);
        const double at = low.seconds + slope * static_cast<double>(batch - low.batch);
        // Noise may let the last two points fall; beyond them no step takes less.
        return batch > right->batch ? std::max(at, right->seconds) : at;
    }
    const auto& roofline = std::get<Roofline>(form_);
    return std::max(roofline.seconds(m), roofline.floor_s);
}

double CostCurve::Roofline::seconds(double batch) const {
    double sum = fixed_s;
    for (const Layer& layer : layers) {
        const double moved_s = layer.traffic_s * batch + layer.weights_s;
        sum += std::max(layer.compute_s * batch, moved_s) +
               std::max((2 * layer.compute_s + layer.again_s) * batch, 2 * moved_s);
    }
    return sum;
}

Duration CostCurve::step_time(std::int64_t batch) const {
    return std::max(Duration::of(round_up(step_seconds(batch) * 1e9)), nanoseconds(1));
}

double CostCurve::device_seconds(std::int64_t batch) const {
    const auto m = static_cast<double>(batch);
    if (const auto* affine = std::get_if<Affine>(&form_)) return affine->seconds_a_sample * m;
    if (const auto* table = std::get_if<Table>(&form_)) {
        const std::vector<Point>& points = table->points;
        if (points.size() < 2) return 0;
        const Point& low = points[points.size() - 2];
        const Point& high = points.back();
        const double slope =
            (high.seconds - low.seconds) / static_cast<double>(high.batch - low.batch);
        return std::clamp(slope * m, 0.0, step_seconds(batch));
    }
    const auto& roofline = std::get<Roofline>(form_);
    return roofline.seconds(m) - (roofline.fixed_s - roofline.update_s);
}

bool CostCurve::has_device_seconds() const {
    const auto* table = std::get_if<Table>(&form_);
    return table == nullptr || table->points.size() > 1;
}

double CostCurve::samples_per_second(std::int64_t batch) const {
    return static_cast<double>(batch) / step_seconds(batch);
}

double CostCurve::update_seconds() const {
    const auto* roofline = std::get_if<Roofline>(&form_);
    return roofline == nullptr ? 0 : roofline->update_s;
}

}  // namespace ukemi::sim
