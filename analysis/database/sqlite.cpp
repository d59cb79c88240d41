#include "analysis/database/sqlite.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <limits>
#include <stdexcept>

#include "base/input_error.hpp"
#include "base/input_files.hpp"
#include "base/plain_text.hpp"

namespace ukemi::analysis {

namespace fs = std::filesystem;

namespace {

constexpr int wait_ms = 10'000;  // for another connection's write or checkpoint to end

// What a path has to have in its place in a URI.
std::string uri_of(const fs::path& file) {
    std::string uri = "file://";  // of no host
    for (const char c : fs::absolute(file).lexically_normal().string()) {
        const bool means_something = c == '%' || c == '?' || c == '#';
        uri += means_something ? fmt::format("%{:02x}", static_cast<unsigned char>(c))
                               : std::string(1, c);
    }
    return uri;
}

struct Opening {
    std::string name;
    int flags;
};

// For reading alone a database in WAL mode leaves two files behind, and cannot be opened in a
// folder where it may not make them: there it is read as what nobody changes, unless it has a log
// of changes beside it, which its writer shares with readers.
Opening opening_of(const fs::path& file, SqliteDatabase::Access access) {
    // A whole path: ":memory:" and "file:" mean something else to SQLite.
    const std::string name = fs::absolute(file).string();
    if (access == SqliteDatabase::Access::write) {
        return {name, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE};
    }
    const bool may_write = ::access(name.c_str(), W_OK) == 0 &&
                           ::access(fs::path(name).parent_path().c_str(), W_OK | X_OK) == 0;
    if (may_write) return {name, SQLITE_OPEN_READWRITE};
    for (const char* beside : {"-wal", "-journal"}) {
        std::error_code none;
        const std::uintmax_t log_bytes = fs::file_size(name + beside, none);
        if (!none && log_bytes > 0) return {name, SQLITE_OPEN_READONLY};
    }
    return {uri_of(name) + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI};
}

}  // namespace

SqliteDatabase::SqliteDatabase(const fs::path& file, Access access) : file_(file) {
    const Opening opening = opening_of(file, access);
    const int code =
        sqlite3_open_v2(opening.name.c_str(), &handle_,
                        opening.flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
    try {
        if (code != SQLITE_OK) fail(code);
        InputFiles::note(file);
        sqlite3_busy_timeout(handle_, wait_ms);
        if (access == Access::read) execute("PRAGMA query_only = 1");
    } catch (...) {
        sqlite3_close_v2(handle_);
        throw;
    }
}

SqliteDatabase::~SqliteDatabase() { sqlite3_close_v2(handle_); }

void SqliteDatabase::execute(const std::string& sql) {
    const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) fail(code);
}

std::int64_t SqliteDatabase::integer(std::string_view sql) {
    SqliteStatement statement(*this, sql);
    return statement.step() ? statement.integer(0) : 0;
}

std::int64_t SqliteDatabase::last_row() const { return sqlite3_last_insert_rowid(handle_); }
std::int64_t SqliteDatabase::changed_rows() const { return sqlite3_changes64(handle_); }
bool SqliteDatabase::is_in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }

void SqliteDatabase::fail(int code) const {
    const std::string said = one_line(sqlite3_errmsg(handle_));
    const std::string name = file_.string();
    switch (code & 0xff) {
        case SQLITE_NOTADB:
            throw InputError(name, "", "expected a database of runs, found no database");
        case SQLITE_CORRUPT: throw InputError(name, "", fmt::format("is damaged: {}", said));
        case SQLITE_CANTOPEN: throw InputError(name, "", fmt::format("cannot be opened: {}", said));
        case SQLITE_BUSY:
        case SQLITE_LOCKED: throw InputError(name, "", "another process is writing there now");
        case SQLITE_FULL:
        case SQLITE_IOERR:
        case SQLITE_READONLY:
            throw std::runtime_error(
                fmt::format("{}: cannot be written: {} (what is in it stays)", name, said));
        default: throw std::runtime_error(fmt::format("{}: {}", name, said));
    }
}

// ---- a statement -------------------------------------------------------------------------------

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
    sqlite3_finalize(statement);
}

SqliteStatement::SqliteStatement(SqliteDatabase& database, std::string_view sql)
    : database_(database) {
    sqlite3_stmt* statement = nullptr;
    check(sqlite3_prepare_v2(database.handle(), sql.data(), static_cast<int>(sql.size()),
                             &statement, nullptr));
    statement_.reset(statement);
}

void SqliteStatement::check(int code) const {
    if (code != SQLITE_OK) database_.fail(code);
}

SqliteStatement& SqliteStatement::bind(std::int64_t value) {
    check(sqlite3_bind_int64(statement_.get(), ++bound_, value));
    return *this;
}
SqliteStatement& SqliteStatement::bind(double value) {
    check(sqlite3_bind_double(statement_.get(), ++bound_, value));
    return *this;
}
SqliteStatement& SqliteStatement::bind(std::string_view text) {
    check(sqlite3_bind_text64(statement_.get(), ++bound_, text.data(), text.size(),
                              SQLITE_TRANSIENT, SQLITE_UTF8));
    return *this;
}
SqliteStatement& SqliteStatement::bind_nothing() {
    check(sqlite3_bind_null(statement_.get(), ++bound_));
    return *this;
}

bool SqliteStatement::step() {
    const int code = sqlite3_step(statement_.get());
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) database_.fail(code);
    return false;
}

void SqliteStatement::run() {
    while (step()) {
    }
    check(sqlite3_reset(statement_.get()));
    bound_ = 0;
}

std::int64_t SqliteStatement::integer(int field) const {
    return sqlite3_column_int64(statement_.get(), field);
}
double SqliteStatement::real(int field) const {
    return is_nothing(field) ? std::numeric_limits<double>::quiet_NaN()
                             : sqlite3_column_double(statement_.get(), field);
}
std::string_view SqliteStatement::text(int field) const {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), field));
    if (text == nullptr) return {};
    return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), field))};
}
bool SqliteStatement::is_nothing(int field) const {
    return sqlite3_column_type(statement_.get(), field) == SQLITE_NULL;
}

bool SqliteStatement::is_real(int field) const {
    return sqlite3_column_type(statement_.get(), field) == SQLITE_FLOAT;
}

}  // namespace ukemi::analysis
