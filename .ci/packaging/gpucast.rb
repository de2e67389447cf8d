# For Homebrew: the archive of a release.
class Gpucast < Formula
  desc "Forecasts how fast a CUDA kernel runs on a GPU that you do not have"
  homepage "https://github.com/@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    depends_on arch: :arm64
    url "#{homepage}/releases/download/v#{version}/gpucast-#{version}-aarch64-macos.tar.gz"
    sha256 "@SHA256:aarch64-macos@"
  end

  on_linux do
    on_intel do
      url "#{homepage}/releases/download/v#{version}/gpucast-#{version}-x86_64-linux.tar.gz"
      sha256 "@SHA256:x86_64-linux@"
    end
    on_arm do
      url "#{homepage}/releases/download/v#{version}/gpucast-#{version}-aarch64-linux.tar.gz"
      sha256 "@SHA256:aarch64-linux@"
    end
  end

  def install
    bin.install "bin/gpucast", "bin/gpucast-serve"
    (lib/"gpucast").install Dir["lib/gpucast/*"]
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/completions/gpucast.bash" => "gpucast"
    zsh_completion.install "share/completions/gpucast.zsh" => "_gpucast"
    fish_completion.install "share/completions/gpucast.fish"
  end

  test do
    system bin/"gpucast", "predict", "sgemm", "--size", "small", "--gpu", "h100-sxm"
  end
end
