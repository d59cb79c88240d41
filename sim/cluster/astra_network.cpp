// astra_network.cpp — four lists, from YAML's short form or JSON, and the links that they mean.
#include "sim/cluster/astra_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/input_error.hpp"
#include "base/json_document.hpp"
#include "base/text_scan.hpp"

namespace ukemi::sim {
namespace {

constexpr std::array<std::string_view, 4> list_names = {"topology", "npus_count", "bandwidth",
                                                        "latency"};
constexpr std::array<std::string_view, 3> block_names = {"Ring", "FullyConnected", "Switch"};
constexpr std::size_t dimensions_max = 8;
constexpr std::int64_t npus_max = 1 << 16;
constexpr std::int64_t fully_connected_max = 1024;
constexpr std::int64_t ring_max = 4096;  // a gigabyte; four times as much for twice as many
constexpr double gigabyte = 1 << 30;

struct ListItem {
    std::string text;
    TextPlace place;   // where a file has lines
    std::string path;  // where it has none
};
using Lists = std::map<std::string, std::vector<ListItem>, std::less<>>;

[[noreturn]] void refuse(std::string_view file, const ListItem& item, std::string_view expected) {
    const std::string problem =
        fmt::format("expected {}, found {}", expected, ukemi::quoted(item.text));
    if (!item.path.empty()) throw InputError(file, item.path, problem);
    throw InputError(file, item.place.line, item.place.column, problem);
}

// Says nothing of what is there instead: a scenario can name any file.
void check_name(std::string_view name, std::string_view file, TextPlace place) {
    if (std::ranges::find(list_names, name) != list_names.end()) return;
    constexpr std::string_view problem =
        "expected the lists topology, npus_count, bandwidth and latency, found something else";
    if (place.line == 0) throw InputError(file, "", problem);
    throw InputError(file, place.line, place.column, problem);
}

// `key: [ a, b ]`, a line each; what follows a # is for people.
Lists lists_of_yaml(std::string_view text, std::string_view file) {
    Lists lists;
    std::size_t line = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        ++line;
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        std::string_view whole = text.substr(begin, end - begin);
        begin = end + 1;
        whole = whole.substr(0, whole.find('#'));
        const auto trimmed = [&](std::string_view part) {
            const std::size_t first = part.find_first_not_of(" \t\r");
            if (first == std::string_view::npos) return part.substr(0, 0);
            return part.substr(first, part.find_last_not_of(" \t\r") - first + 1);
        };
        const auto item = [&](std::string_view part) {
            const auto column = static_cast<std::size_t>(part.data() - whole.data()) + 1;
            return ListItem{std::string(part), {line, column}, {}};
        };
        const std::string_view statement = trimmed(whole);
        if (statement.empty() || statement == "---") continue;
        const std::size_t colon = statement.find(':');
        const std::string_view key = trimmed(statement.substr(0, colon));
        check_name(key, file, {line, 1});
        std::string_view value;
        if (colon != std::string_view::npos) value = trimmed(statement.substr(colon + 1));
        if (value.size() < 2 || value.front() != '[' || value.back() != ']') {
            refuse(file, item(statement), "a list as in \"npus_count: [ 8, 4 ]\"");
        }
        if (lists.contains(key)) refuse(file, item(key), "each list once");
        std::vector<ListItem>& items = lists[std::string(key)];
        value = value.substr(1, value.size() - 2);
        while (!trimmed(value).empty()) {
            const std::size_t comma = std::min(value.find(','), value.size());
            items.push_back(item(trimmed(value.substr(0, comma))));
            value = comma == value.size() ? value.substr(comma) : value.substr(comma + 1);
        }
    }
    return lists;
}

Lists lists_of_json(std::string_view text, std::string_view file) {
    Lists lists;
    const nlohmann::json document = parse_json(text, file);
    for (const auto& [key, value] : document.items()) {
        check_name(key, file, {});
        std::vector<ListItem>& items = lists[key];
        const std::string path = "/" + pointer_token(key);
        if (!value.is_array()) refuse(file, {value.dump().substr(0, 40), {}, path}, "a list");
        for (const auto& one : value) {
            items.push_back({one.is_string() ? one.get<std::string>() : one.dump().substr(0, 40),
                             {},
                             fmt::format("{}/{}", path, items.size())});
        }
    }
    return lists;
}

double number_of(std::string_view file, const ListItem& item, double least, double most,
                 std::string_view unit) {
    double value = 0;
    const char* const end = item.text.data() + item.text.size();
    const auto [stop, error] = std::from_chars(item.text.data(), end, value);
    if (error != std::errc{} || stop != end || !(value >= least && value <= most)) {
        refuse(file, item, fmt::format("a number from {} to {}{}", least, most, unit));
    }
    return value;
}

struct NetworkAxis {
    std::string block;
    std::int64_t size = 1;
    BytesPerSecond bandwidth;
    Duration latency;
};

std::vector<NetworkAxis> axes_of(const Lists& lists, std::string_view file) {
    std::size_t count = 0;
    for (const std::string_view name : list_names) {
        const auto found = lists.find(name);
        const std::size_t items = found == lists.end() ? 0 : found->second.size();
        if (name == "topology") count = items;
        if (items == 0 || items > dimensions_max || items != count) {
            throw InputError(file, "",
                             fmt::format("{}: expected {}, found {}", name,
                                         count == 0 || name == "topology"
                                             ? fmt::format("1 to {} dimensions", dimensions_max)
                                             : fmt::format("{}, one a dimension", count),
                                         items));
        }
    }
    std::vector<NetworkAxis> axes;
    std::int64_t npus = 1;
    for (std::size_t i = 0; i < count; ++i) {
        const auto item = [&](std::string_view name) -> const ListItem& {
            return lists.find(name)->second[i];
        };
        NetworkAxis axis;
        axis.block = item("topology").text;
        if (std::ranges::find(block_names, axis.block) == block_names.end()) {
            refuse(file, item("topology"), "Ring, FullyConnected or Switch");
        }
        const std::int64_t most = axis.block == "FullyConnected" ? fully_connected_max
                                  : axis.block == "Ring"         ? ring_max
                                                                 : npus_max;
        const double size = number_of(file, item("npus_count"), 1, static_cast<double>(most),
                                      fmt::format(" NPUs in a dimension that is {}", axis.block));
        axis.size = static_cast<std::int64_t>(size);
        npus *= axis.size;
        if (size != std::floor(size) || npus > npus_max) {
            refuse(file, item("npus_count"), fmt::format("at most {} NPUs in all", npus_max));
        }
        axis.bandwidth =
            BytesPerSecond::of(gigabyte * number_of(file, item("bandwidth"), 1e-6, 1e6, " GB/s"));
        axis.latency = seconds(1e-9 * number_of(file, item("latency"), 0, 1e9, " ns"));
        axes.push_back(std::move(axis));
    }
    return axes;
}

class AstraCluster {
public:
    AstraCluster(std::span<const NetworkAxis> axes, std::string_view gpu) : axes_(axes) {
        std::int64_t npus = 1;
        double all = 0;  // that an NPU's links carry together
        for (const NetworkAxis& axis : axes) {
            npus *= axis.size;
            const bool pairs = axis.block == "FullyConnected";
            const double links = pairs ? static_cast<double>(axis.size) : 2;
            all += links * axis.bandwidth.raw();
        }
        const std::int64_t each = axes.front().size;
        for (std::int64_t npu = 0; npu < npus; ++npu) {
            if (npu % each == 0) {
                Machine machine;
                machine.name = fmt::format("machine{}", npu / each);
                machine.gpu = gpu;
                machine_ = topology_.add_machine(std::move(machine));
            }
            npus_.push_back(
                topology_.add_device(DeviceKind::gpu, machine_, fmt::format("npu{}", npu % each)));
        }
        for (std::int64_t npu = 0; npu < npus; ++npu) {
            routers_.push_back(add_switch(fmt::format("router{}", npu)));
            topology_.connect(npus_[static_cast<std::size_t>(npu)], routers_.back(),
                              LinkKind::nvlink, 1, BytesPerSecond::of(all), {});
        }
        std::int64_t stride = 1;
        for (const NetworkAxis& axis : axes) {
            for (std::int64_t npu = 0; npu < npus; ++npu) {
                if (npu / stride % axis.size == 0) add_line(axis, npu, stride);
            }
            stride *= axis.size;
        }
    }

    Topology take() { return std::move(topology_); }

private:
    DeviceId add_switch(std::string name) {
        return topology_.add_device(DeviceKind::network_switch, no_machine, std::move(name));
    }

    void add_line(const NetworkAxis& axis, std::int64_t first, std::int64_t stride) {
        if (axis.size == 1) return;
        const bool inner = &axis == &axes_.front();
        const auto at = [&](std::int64_t place) {
            return routers_[static_cast<std::size_t>(first + place % axis.size * stride)];
        };
        const auto cable = [&](DeviceId a, DeviceId b) {
            topology_.connect(a, b, inner ? LinkKind::nvlink : LinkKind::network, 1, axis.bandwidth,
                              axis.latency);
        };
        if (axis.block == "Switch") {
            const DeviceId middle = add_switch(fmt::format("switch{}.{}", stride, first));
            for (std::int64_t i = 0; i < axis.size; ++i) cable(at(i), middle);
        } else if (axis.block == "Ring") {
            const std::int64_t links = axis.size == 2 ? 1 : axis.size;
            for (std::int64_t i = 0; i < links; ++i) cable(at(i), at(i + 1));
        } else {
            for (std::int64_t i = 0; i < axis.size; ++i) {
                for (std::int64_t j = i + 1; j < axis.size; ++j) cable(at(i), at(j));
            }
        }
    }

    std::span<const NetworkAxis> axes_;
    Topology topology_;
    MachineId machine_{};
    std::vector<DeviceId> npus_;
    std::vector<DeviceId> routers_;
};

}  // namespace

AstraNetwork parse_astra_network(std::string_view text, std::string_view file,
                                 std::string_view gpu) {
    const std::size_t bad = first_invalid_utf8(text);
    if (bad != std::string_view::npos) {
        throw InputError(file, "", fmt::format("byte {}: expected text in UTF-8", bad));
    }
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    const bool is_json = first != std::string_view::npos && text[first] == '{';
    const std::vector<NetworkAxis> axes =
        axes_of(is_json ? lists_of_json(text, file) : lists_of_yaml(text, file), file);
    AstraNetwork network{AstraCluster(axes, gpu).take(), {}};
    for (const NetworkAxis& axis : axes) {
        network.sizes.push_back(static_cast<std::int32_t>(axis.size));
    }
    return network;
}

}  // namespace ukemi::sim
