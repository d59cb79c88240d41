// topology.cpp — what a machine or a cluster is made of: dots in rows, cables between them.
//
// Rows from below: GPUs, PCIe switches, sockets, NICs, then the switches of the network by their
// distance from the machines. NVLinks between GPUs are arcs below their row; an NVSwitch lies
// there. A kind of cable, with its lanes and its rate, has a colour, a width and a dash of its own.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "plots/gnuplot.hpp"
#include "plots/panels.hpp"
#include "plots/title.hpp"

namespace ukemi::plots {
namespace {

constexpr int topology_width = 1000;
constexpr std::size_t dots_max = 20'000;
constexpr int machines_in_detail_max = 2;
constexpr int arc_segments = 24;

struct Dot {
    std::string kind;
    std::string name;
    double x = 0;
    double y = 0;
    int row = 0;
};

struct DotStyle {
    std::string_view kind;
    std::string_view title;
    std::string_view colour;
    int point;  // of gnuplot
    double size;
};
constexpr std::array<DotStyle, 7> dot_styles = {{
    {"gpu", "GPU", colour::green, 5, 2.2},
    {"pcie_switch", "PCIe switch", colour::grey, 13, 1.8},
    {"cpu", "CPU socket", colour::orange, 7, 2.2},
    {"nic", "NIC", colour::sky, 9, 1.8},
    {"nvswitch", "NVSwitch", colour::green, 11, 2.4},
    {"network_switch", "network switch", colour::blue, 15, 1.8},
    {"machine", "machine", colour::black, 5, 1.4},
}};

struct CableClass {
    std::string kind;
    int lanes = 1;
    double gb_per_s = 0;
    friend auto operator<=>(const CableClass&, const CableClass&) = default;

    std::string title() const {
        const std::string_view name = kind == "nvlink"   ? "NVLink"
                                      : kind == "pcie"   ? "PCIe"
                                      : kind == "socket" ? "socket link"
                                                         : "network";
        if (lanes == 1) return fmt::format("{}, {:.4g} GB/s", name, gb_per_s);
        return fmt::format("{}, {} x {:.4g} GB/s", name, lanes, gb_per_s / lanes);
    }
    // NVLinks differ by their width, the other kinds by their dash.
    std::string style(int number) const {
        constexpr std::array<std::string_view, 3> nvlinks = {colour::green, colour::purple,
                                                             colour::vermillion};
        if (kind == "nvlink") {
            return fmt::format("lc rgb '{}' dt 1 lw {:.1f}",
                               nvlinks[static_cast<std::size_t>(number) % nvlinks.size()],
                               std::min(5.0, 0.4 + 1.4 * lanes));
        }
        const std::string_view shade = kind == "pcie"     ? colour::grey
                                       : kind == "socket" ? colour::orange
                                                          : colour::blue;
        const int dash = kind == "pcie" ? 1 : kind == "socket" ? 2 : 4;
        return fmt::format("lc rgb '{}' dt {} lw {:.1f}", shade, dash, 1.0 + number);
    }
};

std::string problem_of(const TopologyInput& input) {
    if (input.devices.empty()) return "there is no device";
    const auto known = [&](int device) {
        return device >= 0 && static_cast<std::size_t>(device) < input.devices.size();
    };
    for (const auto& cable : input.cables) {
        if (!known(cable.from) || !known(cable.to)) return "a cable ends nowhere";
        if (!std::isfinite(cable.gb_per_s) || cable.gb_per_s <= 0 || cable.lanes < 1) {
            return "a cable has no bandwidth";
        }
    }
    return {};
}

class DeviceLayout {
public:
    explicit DeviceLayout(const TopologyInput& input) : input_(input) {
        int machines = 0;
        for (const auto& device : input.devices) machines = std::max(machines, device.machine + 1);
        detailed_ = machines <= machines_in_detail_max;
        make_dots(machines);
        for (const auto& cable : input.cables) {
            const auto from = dot_of_[static_cast<std::size_t>(cable.from)];
            const auto to = dot_of_[static_cast<std::size_t>(cable.to)];
            if (from == to) continue;
            ends_.emplace_back(from, to, CableClass{cable.kind, cable.lanes, cable.gb_per_s});
        }
        level_switches();
        place();
        classify();
    }

    const std::vector<Dot>& dots() const { return dots_; }
    const std::map<CableClass, std::size_t>& classes() const { return classes_; }

    std::string table_of_devices() const {
        CsvWriter csv({"kind", "x", "y", "name"});
        for (const Dot& dot : dots_) {
            csv.add(dot.kind).add(dot.x).add(dot.y).add(one_line(dot.name));
            csv.end_row();
        }
        return csv.text();
    }

    // Heights of the rows in which each name has room beside its dot, with so many pixels in all.
    std::vector<double> named_rows(double pixels) const {
        struct Row {
            double count = 0;
            double longest = 0;
        };
        std::map<double, Row> rows;
        for (const Dot& dot : dots_) {
            Row& row = rows[dot.y];
            ++row.count;
            row.longest = std::max(row.longest, label_width(dot.name));
        }
        std::vector<double> named;
        for (const auto& [y, row] : rows) {
            constexpr double dot_width = 24;
            if (row.count * (row.longest + dot_width) <= pixels) named.push_back(y);
        }
        return named;
    }

    // Of the lowest and the highest ink.
    std::pair<double, double> heights() const {
        std::pair<double, double> range{0, 0};
        for (const Dot& dot : dots_) {
            range.first = std::min(range.first, dot.y);
            range.second = std::max(range.second, dot.y);
        }
        for (const auto& [from, to, kind] : ends_) {
            const Dot& a = dots_[from];
            if (a.row != dots_[to].row) continue;
            range.first = std::min(range.first, a.y - depth_of(a, dots_[to]));
            range.second = std::max(range.second, a.y - depth_of(a, dots_[to]));
        }
        return range;
    }

    // One row a stroke: straight cables have one, arcs many.
    std::string table_of_cables() const {
        CsvWriter csv({"class", "lanes", "gb_per_s", "x", "y", "dx", "dy", "kind", "from", "to"});
        for (const auto& [from, to, kind] : ends_) {
            const Dot& a = dots_[from];
            const Dot& b = dots_[to];
            const bool arc = a.row == b.row;
            const double depth = depth_of(a, b);
            double x = a.x;
            double y = a.y;
            for (int i = 1; i <= (arc ? arc_segments : 1); ++i) {
                const double t = arc ? static_cast<double>(i) / arc_segments : 1.0;
                const double next_x = a.x + (b.x - a.x) * t;
                const double next_y = arc ? a.y - depth * 4 * t * (1 - t) : b.y;
                csv.add(classes_.at(kind)).add(kind.lanes).add(kind.gb_per_s);
                csv.add(x).add(y).add(next_x - x).add(next_y - y);
                csv.add(kind.kind).add(one_line(a.name)).add(one_line(b.name));
                csv.end_row();
                x = next_x;
                y = next_y;
            }
        }
        return csv.text();
    }

private:
    // How far an arc hangs below its row; those of the network rise above it.
    static double depth_of(const Dot& a, const Dot& b) {
        const double span = std::abs(b.x - a.x);
        if (a.kind == "gpu") return 0.25 + 1.6 * span;
        return a.kind == "network_switch" ? -0.1 - span : 0.1 * span;
    }

    static int row_of(const std::string& kind) {
        if (kind == "nvswitch") return -1;
        if (kind == "gpu" || kind == "machine") return 0;
        if (kind == "pcie_switch") return 1;
        if (kind == "cpu") return 2;
        return 3;  // NICs; switches are raised later
    }

    void make_dots(int machines) {
        if (!detailed_) {
            for (int i = 0; i < machines; ++i) {
                dots_.push_back({"machine", fmt::format("{}", i), 0, 0, 0});
            }
        }
        for (const auto& device : input_.devices) {
            if (!detailed_ && device.machine >= 0) {
                dot_of_.push_back(static_cast<std::size_t>(device.machine));
                continue;
            }
            dot_of_.push_back(dots_.size());
            dots_.push_back({device.kind, device.name, 0, 0, row_of(device.kind)});
        }
    }

    // A switch lies one row above the lowest that it is joined to.
    void level_switches() {
        constexpr int unknown = 1000;
        const int base = detailed_ ? 3 : 0;
        for (Dot& dot : dots_) {
            if (dot.kind == "network_switch") dot.row = unknown;
        }
        for (int row = base; row < base + 8; ++row) {
            for (const auto& [from, to, kind] : ends_) {
                for (const auto& [low, high] : {std::pair{from, to}, std::pair{to, from}}) {
                    if (dots_[low].row == row && dots_[high].row == unknown)
                        dots_[high].row = row + 1;
                }
            }
        }
        for (Dot& dot : dots_) {
            if (dot.row == unknown) dot.row = base + 9;
        }
    }

    void place() {
        std::map<int, std::vector<std::size_t>> rows;
        for (std::size_t i = 0; i < dots_.size(); ++i) rows[dots_[i].row].push_back(i);
        for (auto& [row, members] : rows) {
            for (std::size_t i = 0; i < members.size(); ++i) {
                Dot& dot = dots_[members[i]];
                dot.x = (static_cast<double>(i) + 0.5) / static_cast<double>(members.size());
                dot.y = dot.row < 0 ? -1.2 : dot.row;
            }
        }
    }

    void classify() {
        for (const auto& [from, to, kind] : ends_) classes_.emplace(kind, 0);
        std::size_t number = 0;
        for (auto& [kind, index] : classes_) index = number++;
    }

    const TopologyInput& input_;
    bool detailed_ = true;
    std::vector<Dot> dots_;
    std::vector<std::size_t> dot_of_;  // by device
    std::vector<std::tuple<std::size_t, std::size_t, CableClass>> ends_;
    std::map<CableClass, std::size_t> classes_;
};

std::vector<LegendEntry> entries_of(const DeviceLayout& layout) {
    std::vector<LegendEntry> entries;
    std::map<std::string, int> of_kind;
    for (const auto& [kind, index] : layout.classes()) {
        entries.push_back(own_entry(kind.title(), "lines " + kind.style(of_kind[kind.kind]++)));
    }
    for (const DotStyle& style : dot_styles) {
        const auto is_kind = [&](const Dot& dot) { return dot.kind == style.kind; };
        if (std::none_of(layout.dots().begin(), layout.dots().end(), is_kind)) continue;
        entries.push_back(own_entry(
            style.title,
            fmt::format("points pt {} ps {} lc rgb '{}'", style.point, style.size, style.colour)));
    }
    return entries;
}

std::string plot_of(const DeviceLayout& layout, double pixels) {
    std::vector<std::string> parts;
    std::map<std::string, int> of_kind;
    for (const auto& [kind, index] : layout.classes()) {
        parts.push_back(
            fmt::format("'topology_cables.csv' skip 1 using ($1=={} ? $4 : NaN):5:6:7 with vectors "
                        "nohead {} notitle",
                        index, kind.style(of_kind[kind.kind]++)));
    }
    for (const DotStyle& style : dot_styles) {
        const auto is_kind = [&](const Dot& dot) { return dot.kind == style.kind; };
        if (std::none_of(layout.dots().begin(), layout.dots().end(), is_kind)) continue;
        parts.push_back(fmt::format(
            "'topology_devices.csv' skip 1 using (strcol(1) eq '{}' ? $2 : NaN):3 with points pt "
            "{} ps {} lc rgb '{}' notitle",
            style.kind, style.point, style.size, style.colour));
    }
    // Beside each dot: cables come from above and below.
    for (const double y : layout.named_rows(pixels)) {
        parts.push_back(
            fmt::format("'topology_devices.csv' skip 1 using (abs($3 - {}) < 0.01 ? $2 : NaN):3:4 "
                        "with labels boxed left offset 1.2,0 notitle",
                        y));
    }
    return fmt::format("    plot {}", fmt::join(parts, ", \\\n        "));
}

}  // namespace

FigureResult draw_topology(const FigureInput& input, const std::filesystem::path& folder,
                           const FigureOptions& options) {
    if (!input.topology) return {{}, "topology: there is none"};
    const std::string problem = problem_of(*input.topology);
    if (!problem.empty()) return {{}, "topology: " + problem};
    const DeviceLayout layout(*input.topology);
    if (layout.dots().size() > dots_max) {
        return {{}, fmt::format("topology: more than {} dots", dots_max)};
    }
    const auto [low, high] = layout.heights();
    FigureSource figure;
    figure.name = "topology";
    figure.width = options.style.width(topology_width);
    const Title title(input.topology->title, figure.width);
    const Legend legend(options.style.place(LegendPlace::below), entries_of(layout),
                        figure.width - 20);
    Panels panels;
    panels.width = figure.width;
    panels.left = 12;
    panels.above = 34 + title.more();
    panels.below = 12;
    panels.make_room(legend);
    panels.high = std::clamp(0.55 * panels.wide(), 260.0, 520.0);
    figure.height = panels.height();
    figure.data = {{"topology_devices.csv", layout.table_of_devices()},
                   {"topology_cables.csv", layout.table_of_cables()}};
    // Room on the right for the last name.
    figure.settings = fmt::format(
        "set style textbox opaque noborder margins 0.1,0.1\nunset border\nunset tics\nset xrange "
        "[-0.02:1.06]\nset yrange [{}:{}]\n{}",
        low - 0.4, high + 0.6, title.settings());
    figure.drawing = panels.margins(0) + title.label(figure.width, figure.height) +
                     legend.settings(figure.width, figure.height, 28 + title.more()) +
                     plot_of(layout, panels.wide()) + legend.plots() + "\n    unset label\n";
    return produce(figure, folder, options);
}

}  // namespace ukemi::plots
