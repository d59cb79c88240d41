// checkpoints.cpp — checkpoint files and the hash of bytes, for workers in Python: those of the
// product's own workers.
//
// A state may be gigabytes. It is not copied, and whatever goes through all of it lets Python's
// other threads run: the one that says that this worker lives must not wait for a disk.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/input_error.hpp"
#include "kernels/bit_hash.hpp"
#include "kernels/checkpoint_file.hpp"
#include "python/bindings.hpp"

namespace ukemi::python {

namespace {

using kernels::Checkpoint;

// Bytes of somebody's in Python, who may not resize them meanwhile.
class Bytes {
public:
    explicit Bytes(const py::buffer& buffer) : info_(buffer.request()) {
        if (info_.ndim != 1 || info_.itemsize != 1)
            throw py::value_error("expected a row of bytes");
        if (info_.size > 1 && info_.strides[0] != 1) {
            throw py::value_error(
                fmt::format("expected bytes that lie one after the other, found a stride of {}",
                            info_.strides[0]));
        }
    }
    std::span<const std::byte> get() const {
        return {static_cast<const std::byte*>(info_.ptr), static_cast<std::size_t>(info_.size)};
    }

private:
    py::buffer_info info_;
};

// To be written, with a state that is Python's; or as it was read, with one of its own.
class PythonCheckpoint {
public:
    PythonCheckpoint(std::uint64_t job, std::int64_t step, std::int64_t position,
                     std::uint64_t plan_version, const py::buffer& state)
        : checkpoint_{.job = job,
                      .step = step,
                      .position = position,
                      .plan_version = plan_version,
                      .state = {}},
          given_(std::make_unique<Bytes>(state)) {
        if (given_->get().size() > kernels::checkpoint_state_bytes_max) {
            throw InputError(
                "the checkpoint", "",
                fmt::format("expected a state of at most {} bytes, found {}",
                            kernels::checkpoint_state_bytes_max, given_->get().size()));
        }
    }
    explicit PythonCheckpoint(Checkpoint read) : checkpoint_(std::move(read)) {}

    const Checkpoint& counts() const { return checkpoint_; }
    std::span<const std::byte> state() const {
        return given_ != nullptr ? given_->get() : std::span<const std::byte>(checkpoint_.state);
    }

private:
    Checkpoint checkpoint_;
    std::unique_ptr<Bytes> given_;
};

std::int64_t write(const PythonCheckpoint& checkpoint, const std::string& file) {
    const py::gil_scoped_release others;
    return kernels::write_checkpoint(file, checkpoint.counts(), checkpoint.state());
}

PythonCheckpoint read(const std::string& file) {
    const py::gil_scoped_release others;
    return PythonCheckpoint(kernels::read_checkpoint(file));
}

py::buffer_info shown(PythonCheckpoint& checkpoint) {
    const std::span<const std::byte> state = checkpoint.state();
    return {const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(state.data())),
            static_cast<py::ssize_t>(state.size()), true};
}

std::uint64_t bit_hash(const py::buffer& data) {
    const Bytes bytes(data);
    const py::gil_scoped_release others;
    kernels::BitHash hash;
    hash.add(bytes.get());
    return hash.value();
}

}  // namespace

void bind_checkpoints(py::module_& module) {
    py::class_<PythonCheckpoint> type(
        module, "Checkpoint", py::buffer_protocol(),
        "A job's progress, in files that are whole and checked, or not there.");
    const auto count = [&type](const char* name, auto member) {
        type.def_property_readonly(name, [member](const PythonCheckpoint& checkpoint) {
            return checkpoint.counts().*member;
        });
    };
    type.attr("state_bytes_max") = kernels::checkpoint_state_bytes_max;
    type.def(
            py::init<std::uint64_t, std::int64_t, std::int64_t, std::uint64_t, const py::buffer&>(),
            py::arg("job"), py::arg("step"), py::arg("position"), py::arg("plan_version"),
            py::arg("state"))
        .def_buffer(&shown)
        // A view of it, which keeps it.
        .def_property_readonly("state", [](py::object self) { return py::memoryview(self); })
        .def("write", &write, py::arg("file"))
        .def_static("read", &read, py::arg("file"));
    count("job", &Checkpoint::job);
    count("step", &Checkpoint::step);
    count("position", &Checkpoint::position);
    count("plan_version", &Checkpoint::plan_version);
    module.def("bit_hash", &bit_hash, py::arg("data"));
}

}  // namespace ukemi::python
