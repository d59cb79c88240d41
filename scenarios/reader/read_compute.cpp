// read_compute.cpp — the forms of a cost curve.
#include "scenarios/reader/read_compute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

#include "base/key_notes.hpp"
#include "scenarios/reader/live_costs.hpp"

namespace ukemi::scenarios {
namespace {

double short_seconds(const ConfigReader& config, std::string_view key, Duration given) {
    if (given > hours(1)) config.fail(key, "expected at most 1 h");
    return to_seconds(given);
}
// 0 where it is not said.
double seconds_of(ConfigReader& config, std::string_view key) {
    return short_seconds(config, key, config.duration(key, {}));
}

// One time says nothing of other batches.
void expect_batch(const ConfigReader& config, std::string_view key,
                  std::span<const sim::CostCurve::Point> points, std::int64_t batch) {
    if (points.size() != 1 || points.front().batch == batch) return;
    if (KeyExplorer::of(config.file()) != nullptr) return;
    config.fail(key, fmt::format("has batch {} only: expected the {} of \"batch\", or two others",
                                 points.front().batch, batch));
}

std::vector<sim::CostCurve::Point> read_points(ConfigReader table) {
    std::vector<sim::CostCurve::Point> points;
    for (const std::string& key : table.keys()) {
        points.push_back({batch_of_key(table, key), seconds_of(table, key)});
    }
    table.finish();
    std::ranges::sort(points, {}, &sim::CostCurve::Point::batch);  // keys are sorted as text
    return points;
}

// The line of a calibration's steps of one worker, who waits for nobody.
sim::CostCurve measured_curve(ConfigReader& compute, const std::string& where,
                              std::string& source) {
    for (const std::string_view key : {"floor", "fixed", "per_sample", "table"}) {
        if (!compute.has(key)) continue;
        compute.fail(key, "stands beside \"costs\", which says it: expected one of them");
    }
    const std::filesystem::path file = compute.beside(compute.text("costs"));
    const LiveCosts costs = compute.of_file("costs", [&] { return read_costs(file); });
    const auto lines = costs.law().lines();
    if (lines.empty() || lines.front().workers != 1) {
        throw InputError(file.string(), "/steps", "no steps of one worker were measured");
    }
    source = fmt::format("measured on {}", costs.device);
    const LineFit& line = lines.front().fit;
    return sim::CostCurve::affine(line.fixed, line.per_unit, where);
}

}  // namespace

std::int64_t batch_of_key(const ConfigReader& table, const std::string& key) {
    std::int64_t batch = 0;
    const auto parsed = std::from_chars(key.data(), key.data() + key.size(), batch);
    if (parsed.ec != std::errc{} || parsed.ptr != key.data() + key.size() || batch < 1 ||
        key.starts_with('0')) {
        table.fail(key, "expected a batch as key, an integer of at least 1 without a 0 before it");
    }
    return batch;
}

ComputeCurves::ComputeCurves(ConfigReader& job, const sim::ModelProfile& model, std::int64_t batch)
    : where_(job.place_of("precision")), flash_(model.transformer && model.transformer->flash) {
    auto compute = job.object_if_present("compute");
    if (model.measured) {
        if (compute) job.fail("compute", "stands beside a model whose steps were measured");
        std::vector<sim::CostCurve::Point> points;
        for (const auto& step : model.measured->steps) points.push_back({step.batch, step.seconds});
        expect_batch(job, "model", points, batch);
        given_ = sim::CostCurve::table(std::move(points), where_);
        given_source_ = model.measured->source;
        return;
    }
    if (!compute) {
        if (model.transformer && job.is_object("model")) kernels_ = KernelKeys{};
        return;
    }
    const std::string where = fmt::format("{}: at {}", job.file(), compute->path());
    // One form alone, `own` being its other keys.
    const auto expect_alone = [&](std::string_view form,
                                  std::initializer_list<std::string_view> own = {}) {
        for (const std::string_view key : {"kernels", "costs", "arithmetic_share", "memory_share",
                                           "table", "floor", "fixed", "per_sample"}) {
            if (key == form || std::ranges::find(own, key) != own.end()) continue;
            compute->expect_absent(
                {key}, fmt::format("does not go with \"{}\": expected one of them", form));
        }
    };
    if (compute->is_object("kernels")) {
        expect_alone("kernels");
        kernels_ = read_kernels(compute->object("kernels"));
    } else if (compute->has("costs")) {
        expect_alone("costs");
        given_ = measured_curve(*compute, where, given_source_);
    } else if (compute->has("arithmetic_share")) {
        expect_alone("arithmetic_share", {"memory_share"});
        shares_ = sim::RooflineShares{compute->number("arithmetic_share", 0.001, 1),
                                      compute->number("memory_share", 0.001, 1, 0.75), 0};
    } else if (compute->has("table")) {
        expect_alone("table");
        std::vector<sim::CostCurve::Point> points = read_points(compute->object("table"));
        expect_batch(*compute, "table", points, batch);
        given_ = sim::CostCurve::table(std::move(points), where);
    } else {
        if (compute->has("memory_share")) {
            compute->fail("memory_share", "goes with \"arithmetic_share\"");
        }
        if (compute->has("floor") && !compute->has("fixed") && !compute->has("per_sample")) {
            compute->fail("floor", "goes with \"fixed\" or \"per_sample\"");
        }
        const double floor_s = seconds_of(*compute, "floor");
        const double fixed_s = seconds_of(*compute, "fixed");
        const double per_sample_s = seconds_of(*compute, "per_sample");
        if (compute->has("kernels")) {
            compute->fail("kernels", "expected an object, empty for what is known of the GPU");
        }
        compute->finish();
        given_ = sim::CostCurve::floored(floor_s, fixed_s, per_sample_s, where);
    }
    compute->finish();
}

ComputeCurves::KernelKeys ComputeCurves::read_kernels(ConfigReader config) {
    KernelKeys keys;
    if (config.has("product_share")) keys.product_share = config.number("product_share", 0.001, 1);
    if (config.has("eight_bit_share")) {
        keys.eight_bit_share = config.number("eight_bit_share", 0.001, 1);
        eight_bits_where_ = config.place_of("eight_bit_share");
    }
    if (config.has("memory_share")) keys.memory_share = config.number("memory_share", 0.001, 1);
    if (config.has("launch")) {
        keys.launch_s = short_seconds(config, "launch", config.duration("launch"));
    }
    if (config.has("attention")) {
        keys.attention = config.one_of("attention", sim::flash_names);
        attention_where_ = config.place_of("attention");
        if (!flash_) {
            config.fail("attention", "goes with \"flash_attention\": true of a model of one's own");
        }
    }
    config.finish();
    return keys;
}

std::optional<sim::KernelClock> ComputeCurves::kernels(const sim::GpuProfile& gpu,
                                                       sim::Precision precision,
                                                       std::string& source) const {
    if (!kernels_) return std::nullopt;
    sim::KernelRates rates = sim::known_kernel_rates(gpu, where_);
    std::string given;
    if (kernels_->product_share > 0) {
        rates.product_share = kernels_->product_share;
        rates.eight_bit_share = kernels_->product_share;
        rates.flash_most = kernels_->product_share;
        given = fmt::format("products at {} of the peak", rates.product_share);
    }
    if (kernels_->eight_bit_share > 0) {
        if (precision != sim::Precision::fp8) {
            throw InputError(eight_bits_where_, "", "goes with \"precision\": \"fp8\"");
        }
        rates.eight_bit_share = kernels_->eight_bit_share;
        given += fmt::format("{}those of eight bits at {}", given.empty() ? "" : ", ",
                             rates.eight_bit_share);
    }
    if (kernels_->memory_share > 0) {
        rates.memory_share = kernels_->memory_share;
        given += fmt::format("{}memory at {} of its rate", given.empty() ? "" : ", ",
                             rates.memory_share);
    }
    if (kernels_->launch_s) {
        rates.launch_s = *kernels_->launch_s;
        given += fmt::format("{}launches", given.empty() ? "" : ", ");
    }
    if (!kernels_->attention.empty()) {
        sim::choose_flash(rates, gpu, kernels_->attention, attention_where_);
    }
    source = "kernel by kernel, ";
    if (kernels_->product_share == 0) source += rates.source;
    if (!given.empty()) {
        source +=
            fmt::format("{}{} of the scenario", kernels_->product_share == 0 ? "; " : "", given);
    }
    if (flash_ && !rates.flash_program.empty()) {
        source += fmt::format("; attention by {}", rates.flash_program);
    }
    return sim::KernelClock(gpu, precision, rates, where_);
}

sim::CostCurve ComputeCurves::curve(const sim::ModelProfile& model, const sim::GpuProfile& gpu,
                                    sim::Precision precision, std::int64_t state_values,
                                    std::string& source) const {
    if (given_) {
        source = given_source_.empty() ? "of the scenario" : given_source_;
        return *given_;
    }
    if (shares_) {
        source = fmt::format("roofline at {} of the peak, of the scenario", shares_->arithmetic);
        return sim::CostCurve::roofline(model, gpu, precision, *shares_, where_, state_values);
    }
    const sim::KnownCurve known = sim::curve_for(model, gpu, precision, where_, state_values);
    source = known.measured ? std::string(known.source) : fmt::format("roofline, {}", known.source);
    if (model.layers_are_tensors) source += "; without launches, which are not known";
    return known.curve;
}

}  // namespace ukemi::scenarios
