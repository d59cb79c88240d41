// smi_topology.cpp — a table of words, and what they are taken to mean.
#include "sim/cluster/smi_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/input_error.hpp"
#include "base/read_file.hpp"
#include "base/text_scan.hpp"
#include "sim/cluster/machines/tables.hpp"
#include "sim/cluster/nic_choice.hpp"
#include "sim/cluster/routes.hpp"

namespace ukemi::sim {
namespace {

constexpr std::size_t devices_in_matrix_max = 128;
constexpr std::size_t bytes_max = std::size_t{4} << 20;
constexpr std::int64_t lanes_of_a_gpu_max = 18;
constexpr std::array<std::string_view, 7> relations = {"X",   "SYS", "SOC", "NODE",
                                                       "PHB", "PXB", "PIX"};

struct Word {
    std::string_view text;
    std::size_t line = 0;
    std::size_t column = 0;
};

// What stands in one cell.
struct Relation {
    std::string_view name;    // of `relations`, or "NV"
    std::uint32_t lanes = 0;  // of NV
};

struct Row {
    Word name;
    std::vector<Relation> cells;
    std::vector<Word> words;  // one a cell, for complaints
    std::string affinity;     // of the NUMA node, else of CPUs; empty for NICs
    bool of_numa_node = false;
};

class Matrix {
public:
    Matrix(std::string_view text, std::string_view file) : file_(file) {
        if (text.size() > bytes_max) {
            throw InputError(file_, 1, 1, fmt::format("more than {} bytes", bytes_max));
        }
        std::size_t line = 0;
        while (!text.empty()) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            if (!take(words_of(text.substr(0, end), ++line))) break;
            text.remove_prefix(std::min(end + 1, text.size()));
        }
        if (names_.empty()) throw InputError(file_, 1, 1, "expected a header line with GPU0");
        if (rows_.size() != names_.size()) {
            throw InputError(file_, line, 1,
                             fmt::format("the header names {} devices, found {} rows",
                                         names_.size(), rows_.size()));
        }
        check();
    }

    const std::vector<Row>& rows() const { return rows_; }
    bool is_gpu(std::size_t i) const { return rows_[i].name.text.starts_with("GPU"); }
    [[noreturn]] void refuse(const Word& at, std::string_view problem) const {
        throw InputError(file_, at.line, at.column, problem);
    }

private:
    // Between white space; terminal escapes (the header is underlined) are not part of a word.
    static std::vector<Word> words_of(std::string_view line, std::size_t number) {
        std::vector<Word> words;
        std::size_t at = 0;
        while (at < line.size()) {
            if (line[at] == '\x1b') {
                while (at < line.size() && line[at] != 'm') ++at;
                ++at;
                continue;
            }
            if (line[at] == ' ' || line[at] == '\t' || line[at] == '\r') {
                ++at;
                continue;
            }
            const std::size_t begin = at;
            while (at < line.size() &&
                   std::string_view(" \t\r\x1b").find(line[at]) == std::string_view::npos) {
                ++at;
            }
            words.push_back({line.substr(begin, at - begin), number, begin + 1});
        }
        return words;
    }

    // False at the end of the matrix.
    bool take(const std::vector<Word>& words) {
        if (words.empty()) return rows_.empty();
        if (names_.empty()) {
            take_header(words);
            return true;
        }
        if (words.front().text == "Legend:" || words.front().text == "NIC") return false;
        take_row(words);
        return true;
    }

    void take_header(const std::vector<Word>& words) {
        if (words.front().text != "GPU0") {
            // Not what it holds instead: a scenario can name any file.
            refuse(words.front(), "expected a header that begins with GPU0");
        }
        for (const Word& word : words) {
            if (word.text == "CPU" || word.text == "NUMA") {
                return take_affinities(std::span(words).subspan(names_.size()));
            }
            if (names_.size() == devices_in_matrix_max) {
                refuse(word, fmt::format("more than {} devices", devices_in_matrix_max));
            }
            names_.push_back(word.text);
        }
    }

    // "CPU Affinity NUMA Affinity GPU NUMA ID", of which older ones have less.
    void take_affinities(std::span<const Word> words) {
        for (std::size_t i = 0; i + 1 < words.size(); ++i) {
            if (words[i].text == "NUMA" && words[i + 1].text == "Affinity") has_numa_nodes_ = true;
        }
    }

    void take_row(const std::vector<Word>& words) {
        Row row;
        row.name = words.front();
        const std::size_t number = rows_.size();
        if (number >= names_.size()) {
            refuse(row.name, fmt::format("expected the end of the matrix, found {}",
                                         ukemi::quoted(row.name.text)));
        }
        if (row.name.text != names_[number]) {
            refuse(row.name,
                   fmt::format("expected the row of {}, found {}", ukemi::quoted(names_[number]),
                               ukemi::quoted(row.name.text)));
        }
        if (words.size() < 1 + names_.size()) {
            refuse(words.back(),
                   fmt::format("{} has {} cells, expected {}", ukemi::quoted(row.name.text),
                               words.size() - 1, names_.size()));
        }
        for (std::size_t i = 0; i < names_.size(); ++i) {
            row.words.push_back(words[i + 1]);
            row.cells.push_back(relation(words[i + 1]));
        }
        // CPU affinity, then the NUMA node where there is one.
        const std::size_t next = 1 + names_.size();
        const bool says_node =
            has_numa_nodes_ && next + 1 < words.size() && words[next + 1].text != "N/A";
        if (next < words.size()) row.affinity = words[says_node ? next + 1 : next].text;
        // Not several of them: "0-1".
        row.of_numa_node = says_node && parse_whole(row.affinity, DecimalGrammar::json).has_value();
        rows_.push_back(std::move(row));
    }

    Relation relation(const Word& word) const {
        for (const std::string_view known : relations) {
            if (word.text == known) return {known, 0};
        }
        if (word.text.starts_with("NV")) {
            const auto lanes = parse_whole(word.text.substr(2), DecimalGrammar::json);
            if (lanes && *lanes > 0 && *lanes <= lanes_of_a_gpu_max) {
                return {"NV", static_cast<std::uint32_t>(*lanes)};
            }
            refuse(word, fmt::format("expected NV1 to NV{}, found {}", lanes_of_a_gpu_max,
                                     ukemi::quoted(word.text)));
        }
        refuse(word, fmt::format("unknown relation {}{}", ukemi::quoted(word.text),
                                 did_you_mean(word.text, relations)));
    }

    void check() const {
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            for (std::size_t j = 0; j < rows_.size(); ++j) {
                const Relation& one = rows_[i].cells[j];
                const Relation& other = rows_[j].cells[i];
                if ((one.name == "X") != (i == j)) {
                    refuse(rows_[i].words[j], "expected X on the diagonal and nowhere else");
                }
                if (one.name != other.name || one.lanes != other.lanes) {
                    refuse(rows_[i].words[j],
                           fmt::format("{} to {} is {}, back it is {}", rows_[i].name.text,
                                       rows_[j].name.text, rows_[i].words[j].text,
                                       rows_[j].words[i].text));
                }
                if (one.name == "NV" && !(is_gpu(i) && is_gpu(j))) {
                    refuse(rows_[i].words[j], "NVLinks join GPUs only");
                }
            }
        }
    }

    std::string_view file_;
    std::vector<std::string_view> names_;
    std::vector<Row> rows_;
    bool has_numa_nodes_ = false;
};

// Sets of devices that grow together; each is named by its first member.
class Groups {
public:
    explicit Groups(std::size_t count) : first_(count) {
        std::iota(first_.begin(), first_.end(), std::size_t{0});
    }
    std::size_t of(std::size_t i) const {
        while (first_[i] != i) i = first_[i];
        return i;
    }
    void join(std::size_t i, std::size_t j) {
        const std::size_t a = of(i);
        const std::size_t b = of(j);
        first_[std::max(a, b)] = std::min(a, b);
    }

private:
    std::vector<std::size_t> first_;
};

class Builder {
public:
    Builder(const Matrix& matrix, const SmiOptions& options)
        : matrix_(matrix), gpu_(options.gpu), behind_(size()), sockets_(size()) {
        machine_ = topology_.add_machine({"machine0", {}, 0, {}});
        choose_nics();
        group();
        add_sockets();
        add_devices();
        add_nvlinks();
        if (gpu_ != nullptr) topology_.machine_to_describe(machine_).gpu = gpu_->name;
    }
    Topology finished() { return std::move(topology_); }

private:
    std::size_t size() const { return matrix_.rows().size(); }
    const Relation& cell(std::size_t i, std::size_t j) const { return matrix_.rows()[i].cells[j]; }

    static NicWay way_of(std::string_view relation) {
        if (relation == "PIX") return NicWay::one_switch;
        if (relation == "PXB") return NicWay::switches;
        return relation == "SYS" || relation == "SOC" ? NicWay::sockets : NicWay::host_bridge;
    }

    // A row is a port; how fast it is stands nowhere.
    void choose_nics() {
        std::vector<NicCard> ports;
        for (std::size_t i = 0; i < size(); ++i) {
            if (matrix_.is_gpu(i)) continue;
            NicCard& port = ports.emplace_back();
            port.port_mbit = {1};
            for (std::size_t j = 0; j < size(); ++j) {
                if (matrix_.is_gpu(j)) port.ways.push_back(way_of(cell(i, j).name));
            }
        }
        const NicChoice choice = chosen_nics(ports);
        auto kept = choice.kept.begin();
        for (std::size_t i = 0; i < size(); ++i) used_.push_back(matrix_.is_gpu(i) || *kept++);
        topology_.machine_to_describe(machine_).nic_ports_left = choice.ports_left;
    }

    void group() {
        for (std::size_t i = 0; i < size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                if (!used_[i] || !used_[j]) continue;
                const std::string_view name = cell(i, j).name;
                const Row& one = matrix_.rows()[i];
                const Row& other = matrix_.rows()[j];
                if (name == "PIX" || name == "PXB") behind_.join(i, j);
                if (name != "SYS" && name != "SOC" && name != "NV") sockets_.join(i, j);
                const bool apart = name == "SYS" || name == "SOC";
                const bool in_numa_nodes = one.of_numa_node && other.of_numa_node;
                if ((!apart || in_numa_nodes) && !one.affinity.empty() &&
                    one.affinity == other.affinity) {
                    sockets_.join(i, j);
                }
            }
        }
    }

    void add_sockets() {
        std::vector<DeviceId> all;
        socket_of_.resize(size());
        for (std::size_t i = 0; i < size(); ++i) {
            if (!used_[i]) continue;
            if (sockets_.of(i) == i) {
                all.push_back(topology_.add_device(DeviceKind::cpu, machine_,
                                                   fmt::format("cpu{}", all.size())));
                socket_of_[i] = all.back();
                for (std::size_t j = 0; j + 1 < all.size(); ++j) {
                    topology_.connect(all[j], all.back(), LinkKind::socket, 1,
                                      BytesPerSecond::of(machine_tables::qpi_2 * 1e9),
                                      nanoseconds(200));
                }
            }
            socket_of_[i] = socket_of_[sockets_.of(i)];
        }
    }

    void add_devices() {
        const BytesPerSecond slot = pcie_x16_rate(gpu_ == nullptr ? 3 : gpu_->pcie_generation);
        std::vector<DeviceId> switches(size());
        ids_.resize(size());
        std::size_t gpus = 0;
        std::size_t nics = 0;
        std::size_t bridges = 0;
        for (std::size_t i = 0; i < size(); ++i) {
            if (!used_[i]) continue;
            const std::size_t first = behind_.of(i);
            if (first == i) {
                switches[i] = topology_.add_device(DeviceKind::pcie_switch, machine_,
                                                   fmt::format("pcie{}", bridges++));
                topology_.connect(switches[i], socket_of_[i], LinkKind::pcie, 1, slot,
                                  nanoseconds(100));
            }
            const bool gpu = matrix_.is_gpu(i);
            ids_[i] = topology_.add_device(
                gpu ? DeviceKind::gpu : DeviceKind::nic, machine_,
                gpu ? fmt::format("gpu{}", gpus++) : fmt::format("nic{}", nics++));
            topology_.connect(ids_[i], switches[first], LinkKind::pcie, 1, slot,
                              nanoseconds(gpu ? 500 : 100));
        }
    }

    // Two GPUs are never joined by more lanes than each has.
    void expect_lanes(std::size_t i, std::size_t j) const {
        if (gpu_ == nullptr || cell(i, j).lanes <= gpu_->nvlinks) return;
        matrix_.refuse(matrix_.rows()[i].words[j],
                       fmt::format("expected {} of {}, found NV{}",
                                   gpu_->nvlinks == 0 ? "no NVLinks"
                                                      : fmt::format("NV1 to NV{}", gpu_->nvlinks),
                                   gpu_->name, cell(i, j).lanes));
    }

    std::int64_t lanes_of_a_gpu() const {
        return gpu_ == nullptr ? lanes_of_a_gpu_max : gpu_->nvlinks;
    }

    void add_nvlinks() {
        const double lane =
            gpu_ == nullptr || gpu_->nvlinks == 0 ? 25e9 : gpu_->nvlink_gb_per_s * 1e9;
        std::int64_t most = 0;
        for (std::size_t i = 0; i < size(); ++i) {
            std::int64_t lanes = 0;
            for (std::size_t j = 0; j < size(); ++j) {
                lanes += cell(i, j).lanes;
                expect_lanes(i, j);
            }
            most = std::max(most, lanes);
        }
        if (most > lanes_of_a_gpu()) return add_plane(lane);
        for (std::size_t i = 0; i < size(); ++i) {
            for (std::size_t j = i + 1; j < size(); ++j) {
                const std::uint32_t lanes = cell(i, j).lanes;
                if (lanes == 0) continue;
                topology_.connect(ids_[i], ids_[j], LinkKind::nvlink, lanes,
                                  BytesPerSecond::of(lanes * lane), nanoseconds(600));
            }
        }
    }

    void add_plane(double lane) {
        const DeviceId plane = topology_.add_device(DeviceKind::nvswitch, machine_, "nvswitch");
        for (std::size_t i = 0; i < size(); ++i) {
            std::uint32_t lanes = 0;
            for (std::size_t j = 0; j < size(); ++j) {
                const std::uint32_t here = cell(i, j).lanes;
                if (here == 0) continue;
                if (lanes != 0 && here != lanes) {
                    matrix_.refuse(
                        matrix_.rows()[i].words[j],
                        fmt::format("more NVLinks than the {} of {} cannot be direct ones, and "
                                    "those of {} to a switch would not differ: NV{} and NV{}",
                                    lanes_of_a_gpu(), gpu_ == nullptr ? "any GPU" : gpu_->name,
                                    matrix_.rows()[i].name.text, lanes, here));
                }
                lanes = here;
            }
            if (lanes == 0) continue;
            topology_.connect(ids_[i], plane, LinkKind::nvlink, lanes,
                              BytesPerSecond::of(lanes * lane), nanoseconds(300));
        }
    }

    const Matrix& matrix_;
    const GpuProfile* gpu_;
    Topology topology_;
    MachineId machine_{};
    std::vector<bool> used_;  // by row
    Groups behind_;           // one PCIe switch
    Groups sockets_;
    std::vector<DeviceId> socket_of_;
    std::vector<DeviceId> ids_;
};

}  // namespace

Topology parse_smi_topology(std::string_view text, std::string_view file,
                            const SmiOptions& options) {
    const Matrix matrix(text, file);
    Topology topology = Builder(matrix, options).finished();
    check_connected(topology);
    return topology;
}

Topology read_smi_topology(const std::filesystem::path& file, const SmiOptions& options) {
    const std::string text = read_text_file(file, bytes_max);
    return parse_smi_topology(text, file.string(), options);
}

}  // namespace ukemi::sim
