// astra_system.cpp — a JSON object with keys that have dashes.
#include "scenarios/reader/astra_system.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/input_error.hpp"
#include "base/json_document.hpp"

namespace ukemi::scenarios {
namespace {

using nlohmann::json;

std::vector<std::string> algorithms_of(const json& value, std::string_view file,
                                       std::string_view path) {
    std::vector<std::string> names;
    if (value.is_string()) {
        std::string_view left = value.get_ref<const std::string&>();
        while (!left.empty()) {
            const std::size_t end = std::min(left.find('_'), left.size());
            names.emplace_back(left.substr(0, end));
            left.remove_prefix(std::min(end + 1, left.size()));
        }
        return names;
    }
    if (!value.is_array()) {
        throw InputError(file, path, "expected a list of algorithms, found " + describe(value));
    }
    for (const json& one : value) {
        if (!one.is_string()) {
            throw InputError(file, path, "expected a name, found " + describe(one));
        }
        names.push_back(one.get<std::string>());
    }
    return names;
}

std::optional<kernels::AxisExchange> exchange_of(std::string_view name) {
    if (name == "ring") return kernels::AxisExchange::ring;
    if (name == "direct") return kernels::AxisExchange::direct;
    if (name == "halvingDoubling") return kernels::AxisExchange::halving_doubling;
    return std::nullopt;
}

void set_all_reduce(const json& value, std::string_view file, std::span<const std::int32_t> sizes,
                    AstraSystem& system) {
    constexpr std::string_view path = "/all-reduce-implementation";
    const auto refuse = [&](const std::string& expected, std::string_view found) {
        throw InputError(file, path, fmt::format("expected {}, found {}", expected, found));
    };
    const std::vector<std::string> names = algorithms_of(value, file, path);
    if (names.size() == 1 && names[0] == "oneRing") return;
    if (names.size() == 1 && (names[0] == "oneDirect" || names[0] == "doubleBinaryTree")) {
        const bool tree = names[0] == "doubleBinaryTree";
        system.collective =
            tree ? policies::Collective::double_binary_tree : policies::Collective::clique;
        if (tree && sizes.size() > 1) refuse("one dimension under a doubleBinaryTree", names[0]);
        return;
    }
    if (names.size() != sizes.size()) {
        refuse(fmt::format("an algorithm for each of the network's {} dimensions", sizes.size()),
               fmt::format("{}", names.size()));
    }
    std::int32_t stride = 1;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto exchange = exchange_of(names[i]);
        if (!exchange) refuse("ring, direct or halvingDoubling", names[i]);
        const bool power = std::has_single_bit(static_cast<std::uint32_t>(sizes[i]));
        if (exchange == kernels::AxisExchange::halving_doubling && !power) {
            refuse("a power of two NPUs in a dimension of halvingDoubling",
                   fmt::format("{}", sizes[i]));
        }
        if (sizes[i] > 1) system.axes.push_back({sizes[i], stride, *exchange});
        stride *= sizes[i];
    }
}

}  // namespace

AstraSystem parse_astra_system(std::string_view text, std::string_view file,
                               std::span<const std::int32_t> sizes) {
    const json document = parse_json(text, file);
    if (!document.is_object()) {
        throw InputError(file, "", "expected an object, found " + describe(document));
    }
    AstraSystem system;
    const auto number = [&](const char* key, double most) {
        const auto found = document.find(key);
        if (found == document.end()) return 0.0;
        const bool fits =
            found->is_number() && found->get<double>() >= 0 && found->get<double>() <= most;
        if (!fits) {
            throw InputError(
                file, std::string("/") + key,
                fmt::format("expected a number from 0 to {}, found {}", most, describe(*found)));
        }
        return found->get<double>();
    };
    if (const auto found = document.find("all-reduce-implementation"); found != document.end()) {
        set_all_reduce(*found, file, sizes, system);
    }
    system.endpoint_delay = seconds(1e-9 * number("endpoint-delay", 1e9));
    system.peak_flops = 1e12 * number("peak-perf", 1e9);
    system.memory_bytes_per_s = 1e9 * number("local-mem-bw", 1e9);
    const auto roofline = document.find("roofline-enabled");
    system.roofline =
        roofline != document.end() && (*roofline == json(1) || *roofline == json(true));
    return system;
}

}  // namespace ukemi::scenarios
