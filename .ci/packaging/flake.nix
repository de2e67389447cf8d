# For Nix: builds a release from its source: `nix build`, beside this file.
{
  description = "Forecasts how fast a CUDA kernel runs on a GPU that you do not have";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "aarch64-darwin" ];
      each = nixpkgs.lib.genAttrs systems;
    in {
      packages = each (system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
          source = builtins.fetchGit {
            url = "https://github.com/@REPOSITORY@";
            rev = "@COMMIT@";
          };
        in {
          default = pkgs.rustPlatform.buildRustPackage {
            pname = "gpucast";
            version = "@VERSION@";
            src = source;
            cargoLock.lockFile = "${source}/Cargo.lock";
            buildFeatures = [ "parquet" ];
            # Tests start programs of the build's own folder.
            doCheck = false;
          };
        });
    };
}
